/// Private to json.cpp and json_text.cpp: one description of each struct for both directions.
/// fields(archive, value) names every member once, and the archive writes or reads it.
#pragma once

#include "common/core/limits.hpp"
#include "common/core/task.hpp"

namespace cupel::json_fields {

template <typename Archive>
void fields(Archive& a, GitSource& v) {
  a("url", v.url);
  a("ref", v.ref);
}
template <typename Archive>
void fields(Archive& a, BundleSource& v) {
  a("artifact", v.artifact);
  a("commit", v.commit);
  a("name", v.name);
}
template <typename Archive>
void fields(Archive& a, ModuleSource& v) {
  a("path", v.path);
  a("version", v.version);
}
template <typename Archive>
void fields(Archive& a, ModuleTarget& v) {
  a("module", v.module);
  a("version", v.version);
}
template <typename Archive>
void fields(Archive& a, Upgrade& v) {
  a("select", v.select);
  a("modules", v.modules);
  a("min_age_s", v.min_age_s);
  a("allow_major", v.allow_major);
  a("deny", v.deny);
  a("pins", v.pins);
}
template <typename Archive>
void fields(Archive& a, GoVersionChange& v) {
  a("version", v.version);
  a("raise_directive", v.raise_directive);
}
template <typename Archive>
void fields(Archive& a, Replacement& v) {
  a("module", v.module);
  a("with", v.with);
}
template <typename Archive>
void fields(Archive& a, Replace& v) {
  a("modules", v.modules);
}
template <typename Archive>
void fields(Archive& a, ApplyPatch& v) {
  a("diff", v.diff);
}
template <typename Archive>
void fields(Archive&, NoChange&) {}
template <typename Archive>
void fields(Archive& a, GateFinding& v) {
  a("gate", v.gate);
  a("detail", v.detail);
}
template <typename Archive>
void fields(Archive& a, ModuleMove& v) {
  a("module", v.module);
  a("from", v.from);
  a("to", v.to);
  a("direct", v.direct);
  a("target", v.target);
}
template <typename Archive>
void fields(Archive& a, Candidate& v) {
  a("module", v.module);
  a("current", v.current);
  a("latest", v.latest);
  a("chosen", v.chosen);
  a("notes", v.notes);
}
template <typename Archive>
void fields(Archive& a, ChangeFacts& v) {
  a("tree", v.tree);
  a("not_affected", v.not_affected);
  a("resolved", v.resolved);
  a("moved", v.moved);
  a("candidates", v.candidates);
  a("go_before", v.go_before);
  a("go_after", v.go_after);
  a("gates", v.gates);
  a("patch", v.patch);
  a("patch_bytes", v.patch_bytes);
}
template <typename Archive>
void fields(Archive& a, ToolPin& v) {
  a("package", v.package);
  a("module", v.module);
  a("version", v.version);
  a("sum", v.sum);
}
template <typename Archive>
void fields(Archive& a, ToolFacts& v) {
  a("tool", v.tool);
  a("image", v.image);
  a("go_version", v.go_version);
  a("binary", v.binary);
  a("bytes", v.bytes);
}
template <typename Archive>
void fields(Archive& a, ScanInput& v) {
  a("scanner", v.scanner);
  a("version", v.version);
  a("database", v.database);
  a("database_id", v.database_id);
  a("database_time", v.database_time);
  a("problem", v.problem);
  a("message", v.message);
  a("limit_s", v.limit_s);
}
template <typename Archive>
void fields(Archive& a, Vulnerability& v) {
  a("osv", v.osv);
  a("module", v.module);
  a("found_version", v.found_version);
  a("fixed_version", v.fixed_version);
  a("level", v.level);
  a("package", v.package);
  a("symbol", v.symbol);
  a("summary", v.summary);
}
template <typename Archive>
void fields(Archive& a, ScanFacts& v) {
  a("scanner_version", v.scanner_version);
  a("database_id", v.database_id);
  a("database_time", v.database_time);
  a("go_version", v.go_version);
  a("vulnerabilities", v.vulnerabilities);
}
template <typename Archive>
void fields(Archive& a, Finding& v) {
  a("kind", v.kind);
  a("check", v.check);
  a("package", v.package);
  a("test", v.test);
  a("analyzer", v.analyzer);
  a("file", v.file);
  a("line", v.line);
  a("column", v.column);
  a("more_places", v.more_places);
  a("message", v.message);
  a("environment", v.environment);
  a("inferred", v.inferred);
  a("key", v.key);
  a("signature", v.signature);
}
template <typename Archive>
void fields(Archive& a, UnitInfo& v) {
  a("dir", v.dir);
  a("module_path", v.module_path);
  a("go_version", v.go_version);
  a("vendored", v.vendored);
  a("workspace", v.workspace);
  a("outcome", v.outcome);
  a("reason", v.reason);
  a("findings", v.findings, kFindingsPerResultMax);
}
template <typename Archive>
void fields(Archive& a, AcquireSource& v) {
  a("source", v.source);
  a("pinned_commit", v.pinned_commit);
  a("subdirs", v.subdirs);
}
template <typename Archive>
void fields(Archive& a, AcquireModules& v) {
  a("commit", v.commit);
  a("unit", v.unit);
  a("side", v.side);
  a("variant", v.variant);
}
template <typename Archive>
void fields(Archive& a, Mutate& v) {
  a("commit", v.commit);
  a("unit", v.unit);
  a("change", v.change);
  a("variant", v.variant);
  a("resolved", v.resolved);
  a("vulnerabilities", v.vulnerabilities);
}
template <typename Archive>
void fields(Archive& a, BuildTool& v) {
  a("tool", v.tool);
  a("image", v.image);
}
template <typename Archive>
void fields(Archive& a, Execute& v) {
  a("commit", v.commit);
  a("unit", v.unit);
  a("side", v.side);
  a("variant", v.variant);
  a("repeat", v.repeat);
  a("image", v.image);
  a("scan", v.scan);
  a("only_scan", v.only_scan);
}
template <typename Archive>
void fields(Archive&, NoOp&) {}
template <typename Archive>
void fields(Archive& a, RunLimits& v) {
  a("cpu_millis", v.cpu_millis);
  a("memory_bytes", v.memory_bytes);
  a("pids", v.pids);
  a("tmp_bytes", v.tmp_bytes);
  a("output_bytes", v.output_bytes);
}
template <typename Archive>
void fields(Archive& a, TestSettings& v) {
  a("enabled", v.enabled);
  a("timeout_s", v.timeout_s);
  a("count", v.count);
  a("race", v.race);
  a("short_mode", v.short_mode);
  a("shuffle", v.shuffle);
  a("run", v.run);
  a("skip", v.skip);
}
template <typename Archive>
void fields(Archive& a, CustomCheck& v) {
  a("name", v.name);
  a("command", v.command);
  a("limit_s", v.limit_s);
  a("parser", v.parser);
}
template <typename Archive>
void fields(Archive& a, ValidationSettings& v) {
  a("limits", v.limits);
  a("packages", v.packages);
  a("tags", v.tags);
  a("build", v.build);
  a("vet", v.vet);
  a("test", v.test);
  a("custom", v.custom);
  a("check_limit_s", v.check_limit_s);
  a("acquire_limit_s", v.acquire_limit_s);
  a("build_cache", v.build_cache);
  a("image", v.image);
  a("image_without_c_compiler", v.image_without_c_compiler);
  a("go_private", v.go_private);
  a("go_nosumdb", v.go_nosumdb);
  a("require_enforced_egress", v.require_enforced_egress);
}
template <typename Archive>
void fields(Archive& a, TaskSpec& v) {
  a("id", v.id);
  a("campaign", v.campaign);
  a("repository", v.repository);
  a("unit", v.unit);
  a("kind", v.kind);
  a("work", v.work);
  a("settings", v.settings);
}
template <typename Archive>
void fields(Archive& a, SourceFacts& v) {
  a("commit", v.commit);
  a("tree", v.tree);
  a("files", v.files);
  a("bytes", v.bytes);
  a("units", v.units, kUnitsPerRepositoryMax);
  a("committed", v.committed);
}
template <typename Archive>
void fields(Archive& a, ModuleFacts& v) {
  a("tree", v.tree);
  a("completed", v.completed);
  a("modules", v.modules);
  a("cache_bytes", v.cache_bytes);
}
template <typename Archive>
void fields(Archive& a, LogRef& v) {
  a("check", v.check);
  a("name", v.name);
  a("stream", v.stream);
  a("artifact", v.artifact);
  a("bytes", v.bytes);
  a("truncated", v.truncated);
}
template <typename Archive>
void fields(Archive& a, CheckRecord& v) {
  a("check", v.check);
  a("name", v.name);
  a("command", v.command);
  a("outcome", v.outcome);
  a("reason", v.reason);
  a("exit_code", v.exit_code);
  a("truncated", v.truncated);
  a("duration_us", v.duration_us);
  a("packages", v.packages);
  a("tests", v.tests);
  a("tests_not_run", v.tests_not_run);
}
template <typename Archive>
void fields(Archive& a, Evidence& v) {
  a("image", v.image);
  a("go_version", v.go_version);
  a("engine", v.engine);
  a("egress", v.egress);
  a("proxy_mode", v.proxy_mode);
  a("build_cache", v.build_cache);
  a("parser_version", v.parser_version);
  a("wrapper", v.wrapper);
  a("notes", v.notes);
}
template <typename Archive>
void fields(Archive& a, TaskResult& v) {
  a("task", v.task);
  a("token", v.token);
  a("ending", v.ending);
  a("outcome", v.outcome);
  a("reason", v.reason);
  a("message", v.message);
  a("findings", v.findings, kFindingsPerResultMax);
  a("findings_truncated", v.findings_truncated);
  a("findings_artifact", v.findings_artifact);
  a("checks", v.checks);
  a("source", v.source);
  a("modules", v.modules);
  a("change", v.change);
  a("scan", v.scan);
  a("tool", v.tool);
  a("evidence", v.evidence);
  a("logs", v.logs);
  a("started", v.started);
  a("finished", v.finished);
}

}  // namespace cupel::json_fields
