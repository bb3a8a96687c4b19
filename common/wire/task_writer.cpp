// Tasks and results on their way into a message.
#include "common/wire/fields.hpp"

namespace cupel::wire {
namespace {

// The overloads below stand beside those of fields.hpp, not in front of them.
using cupel::wire::write;

void write(schema::Finding::Builder out, const Finding& value) {
  out.setKind(word<schema::FindingKind>(value.kind));
  out.setCheck(word<schema::CheckKind>(value.check));
  out.setPackage(cut(value.package));
  out.setTest(cut(value.test));
  out.setAnalyzer(cut(value.analyzer));
  out.setFile(cut(value.file));
  out.setLine(value.line);
  out.setColumn(value.column);
  out.setMessage(cut(value.message));
  out.setEnvironment(cut(value.environment));
  out.setInferred(value.inferred);
  out.setKey(cut(value.key));
  out.setSignature(cut(value.signature));
  out.setMorePlaces(value.more_places);
}

template <typename Init>
void write_findings(const std::vector<Finding>& findings, Init init) {
  auto list = init(static_cast<unsigned>(findings.size()));
  for (unsigned i = 0; i < list.size(); ++i) write(list[i], findings[i]);
}

void write(schema::UnitInfo::Builder out, const UnitInfo& value) {
  out.setDir(Text(value.dir));
  out.setModulePath(Text(value.module_path));
  out.setGoVersion(Text(value.go_version));
  out.setVendored(value.vendored);
  out.setWorkspace(Text(value.workspace));
  out.setOutcome(word<schema::Outcome>(value.outcome));
  out.setReason(word<schema::Reason>(value.reason));
  write_findings(value.findings, [&](unsigned size) { return out.initFindings(size); });
}

void write(schema::ValidationSettings::Builder out, const ValidationSettings& value) {
  auto limits = out.initLimits();
  limits.setCpuMillis(value.limits.cpu_millis);
  limits.setMemoryBytes(value.limits.memory_bytes);
  limits.setPids(value.limits.pids);
  limits.setTmpBytes(value.limits.tmp_bytes);
  limits.setOutputBytes(value.limits.output_bytes);
  put_texts(value.packages, std::string::npos, [&](unsigned n) { return out.initPackages(n); });
  put_texts(value.tags, std::string::npos, [&](unsigned n) { return out.initTags(n); });
  out.setBuild(value.build);
  out.setVet(value.vet);
  auto test = out.initTest();
  test.setEnabled(value.test.enabled);
  test.setTimeoutSeconds(value.test.timeout_s);
  test.setCount(value.test.count);
  test.setRace(value.test.race);
  test.setShortMode(value.test.short_mode);
  test.setShuffle(Text(value.test.shuffle));
  test.setRun(Text(value.test.run));
  test.setSkip(Text(value.test.skip));
  auto custom = out.initCustom(static_cast<unsigned>(value.custom.size()));
  for (unsigned i = 0; i < custom.size(); ++i) {
    custom[i].setName(Text(value.custom[i].name));
    put_texts(value.custom[i].command, std::string::npos,
              [&](unsigned n) { return custom[i].initCommand(n); });
    custom[i].setLimitSeconds(value.custom[i].limit_s);
    custom[i].setParser(word<schema::CheckParser>(value.custom[i].parser));
  }
  out.setCheckLimitSeconds(value.check_limit_s);
  out.setAcquireLimitSeconds(value.acquire_limit_s);
  out.setBuildCache(word<schema::BuildCache>(value.build_cache));
  out.setImage(Text(value.image));
  out.setImageWithoutCCompiler(value.image_without_c_compiler);
  out.setGoPrivate(Text(value.go_private));
  out.setGoNoSumDb(Text(value.go_nosumdb));
  out.setRequireEnforcedEgress(value.require_enforced_egress);
}

void write(schema::SourceFacts::Builder out, const SourceFacts& value) {
  out.setCommit(Text(value.commit));
  out.setTree(Text(value.tree));
  out.setFiles(value.files);
  out.setBytes(value.bytes);
  out.setCommittedMicros(value.committed.us);
  auto units = out.initUnits(static_cast<unsigned>(value.units.size()));
  for (unsigned i = 0; i < units.size(); ++i) write(units[i], value.units[i]);
}

void write(schema::ModuleFacts::Builder out, const ModuleFacts& value) {
  out.setTree(Text(value.tree));
  out.setCompleted(value.completed);
  out.setModules(value.modules);
  out.setCacheBytes(value.cache_bytes);
}

void write(schema::CheckRecord::Builder out, const CheckRecord& value) {
  out.setCheck(word<schema::CheckKind>(value.check));
  out.setName(cut(value.name));
  put_texts(value.command, kArgumentBytesMax, [&](unsigned n) { return out.initCommand(n); });
  out.setOutcome(word<schema::Outcome>(value.outcome));
  out.setReason(word<schema::Reason>(value.reason));
  out.setExitCode(value.exit_code);
  out.setTruncated(value.truncated);
  out.setDurationMicros(value.duration_us);
  out.setPackages(value.packages);
  out.setTests(value.tests);
  out.setTestsNotRun(value.tests_not_run);
}

void write(schema::Evidence::Builder out, const Evidence& value) {
  out.setImage(cut(value.image));
  out.setGoVersion(cut(value.go_version));
  out.setEngine(cut(value.engine));
  out.setEgress(cut(value.egress));
  out.setProxyMode(cut(value.proxy_mode));
  out.setBuildCache(cut(value.build_cache));
  out.setParserVersion(value.parser_version);
  out.setWrapper(cut(value.wrapper));
  put_texts(value.notes, kNameBytesMax, [&](unsigned n) { return out.initNotes(n); });
}

void write(schema::LogRef::Builder out, const LogRef& value) {
  out.setCheck(word<schema::CheckKind>(value.check));
  out.setName(cut(value.name));
  out.setStream(word<schema::Stream>(value.stream));
  out.setArtifact(data(value.artifact));
  out.setBytes(value.bytes);
  out.setTruncated(value.truncated);
}

}  // namespace

void write(schema::TaskSpec::Builder out, const TaskSpec& value) {
  out.setId(value.id.value);
  out.setCampaign(value.campaign.value);
  out.setRepository(value.repository.value);
  out.setUnit(value.unit.value);
  out.setKind(word<schema::TaskKind>(value.kind));
  write(out.initSettings(), value.settings);
  auto work = out.getWork();
  if (const auto* const source = std::get_if<AcquireSource>(&value.work)) {
    auto to = work.initAcquireSource();
    write(to.initSource(), source->source);
    to.setPinnedCommit(Text(source->pinned_commit));
    put_texts(source->subdirs, std::string::npos, [&](unsigned n) { return to.initSubdirs(n); });
  } else if (const auto* const modules = std::get_if<AcquireModules>(&value.work)) {
    auto to = work.initAcquireModules();
    to.setCommit(Text(modules->commit));
    write(to.initUnit(), modules->unit);
    to.setSide(word<schema::Side>(modules->side));
    to.setVariant(modules->variant);
  } else if (const auto* const execute = std::get_if<Execute>(&value.work)) {
    auto to = work.initExecute();
    to.setCommit(Text(execute->commit));
    write(to.initUnit(), execute->unit);
    to.setSide(word<schema::Side>(execute->side));
    to.setVariant(execute->variant);
    to.setRepeat(execute->repeat);
    to.setImage(Text(execute->image));
    write(to.initScan(), execute->scan);
    to.setOnlyScan(execute->only_scan);
  } else if (const auto* const mutate = std::get_if<Mutate>(&value.work)) {
    auto to = work.initMutate();
    to.setCommit(Text(mutate->commit));
    write(to.initUnit(), mutate->unit);
    write(to.initChange(), mutate->change);
    to.setVariant(mutate->variant);
    put_list(mutate->resolved, [&](unsigned n) { return to.initResolved(n); });
    put_list(mutate->vulnerabilities, [&](unsigned n) { return to.initVulnerabilities(n); });
  } else if (const auto* const tool = std::get_if<BuildTool>(&value.work)) {
    auto to = work.initBuildTool();
    write(to.initTool(), tool->tool);
    to.setImage(Text(tool->image));
  } else {
    work.setNoOp();
  }
}

void write(schema::TaskResult::Builder out, const TaskResult& value) {
  out.setTask(value.task.value);
  out.setToken(value.token.value);
  out.setEnding(word<schema::Ending>(value.ending));
  out.setOutcome(word<schema::Outcome>(value.outcome));
  out.setReason(word<schema::Reason>(value.reason));
  out.setMessage(cut(value.message));
  write_findings(value.findings, [&](unsigned size) { return out.initFindings(size); });
  out.setFindingsTruncated(value.findings_truncated);
  out.setFindingsArtifact(data(value.findings_artifact));
  auto checks = out.initChecks(static_cast<unsigned>(value.checks.size()));
  for (unsigned i = 0; i < checks.size(); ++i) write(checks[i], value.checks[i]);
  if (value.source) write(out.initSource(), *value.source);
  if (value.modules) write(out.initModules(), *value.modules);
  write(out.initEvidence(), value.evidence);
  auto logs = out.initLogs(static_cast<unsigned>(value.logs.size()));
  for (unsigned i = 0; i < logs.size(); ++i) write(logs[i], value.logs[i]);
  out.setStarted(value.started.us);
  out.setFinished(value.finished.us);
  if (value.change) write(out.initChange(), *value.change);
  if (value.scan) write(out.initScan(), *value.scan);
  if (value.tool) write(out.initTool(), *value.tool);
}

void write(schema::Findings::Builder out, const std::vector<Finding>& value) {
  write_findings(value, [&](unsigned size) { return out.initFindings(size); });
}

}  // namespace cupel::wire
