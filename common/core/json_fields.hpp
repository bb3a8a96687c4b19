/// Private to json.cpp: one description of each struct for both directions. fields(archive, value)
/// names every member once, and the archive writes or reads it.
#pragma once

#include "common/core/limits.hpp"
#include "common/core/task.hpp"

#include <array>
#include <concepts>
#include <optional>
#include <string_view>

namespace cupel::json_fields {

inline constexpr std::array<std::string_view, 3> kEndingNames = {"completed", "interrupted",
                                                                 "lost_workspace"};
inline constexpr std::array<std::string_view, 2> kBuildCacheNames = {"seeded", "empty"};

template <typename Enum>
inline std::string_view word(Enum value) {
  return name(value);
}
inline std::string_view word(Ending value) {
  return kEndingNames.at(static_cast<std::size_t>(value));
}
inline std::string_view word(BuildCache value) {
  return kBuildCacheNames.at(static_cast<std::size_t>(value));
}

template <typename Enum>
std::optional<Enum> parse_word(std::string_view text) {
  const auto index_in = [text](const auto& names) -> std::optional<Enum> {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
  };
  if constexpr (std::same_as<Enum, Ending>)
    return index_in(kEndingNames);
  else if constexpr (std::same_as<Enum, BuildCache>)
    return index_in(kBuildCacheNames);
  else
    return parse_name<Enum>(text);
}

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
void fields(Archive& a, Finding& v) {
  a("kind", v.kind);
  a("check", v.check);
  a("package", v.package);
  a("test", v.test);
  a("analyzer", v.analyzer);
  a("file", v.file);
  a("line", v.line);
  a("column", v.column);
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
}
template <typename Archive>
void fields(Archive& a, Execute& v) {
  a("commit", v.commit);
  a("unit", v.unit);
  a("side", v.side);
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
  a("evidence", v.evidence);
  a("logs", v.logs);
  a("started", v.started);
  a("finished", v.finished);
}

// The member "type" says which alternative of a variant an object is.
constexpr std::string_view type_name(const GitSource*) {
  return "git";
}
constexpr std::string_view type_name(const BundleSource*) {
  return "bundle";
}
constexpr std::string_view type_name(const ModuleSource*) {
  return "module";
}
constexpr std::string_view type_name(const AcquireSource*) {
  return "acquire_source";
}
constexpr std::string_view type_name(const AcquireModules*) {
  return "acquire_modules";
}
constexpr std::string_view type_name(const Execute*) {
  return "execute";
}
constexpr std::string_view type_name(const NoOp*) {
  return "no_op";
}

}  // namespace cupel::json_fields
