// Tasks and results out of a message of somebody else.
#include "common/wire/fields.hpp"

namespace cupel::wire {
namespace {

// The overloads below stand beside those of fields.hpp, not in front of them.
using cupel::wire::read;

std::int32_t position(std::int32_t number, const char* what) {
  if (number < 0) throw Malformed{std::string(what) + " is negative"};
  return number;
}

Finding read(schema::Finding::Reader in) {
  Finding value;
  value.kind = word_from<FindingKind>(in.getKind(), "finding.kind");
  value.check = word_from<CheckKind>(in.getCheck(), "finding.check");
  value.package = text(in.getPackage(), "finding.package");
  value.test = text(in.getTest(), "finding.test");
  value.analyzer = text(in.getAnalyzer(), "finding.analyzer");
  value.file = text(in.getFile(), "finding.file");
  value.line = position(in.getLine(), "finding.line");
  value.column = position(in.getColumn(), "finding.column");
  value.message = text(in.getMessage(), "finding.message", kMessageBytesMax);
  value.environment = text(in.getEnvironment(), "finding.environment");
  value.inferred = in.getInferred();
  value.key = text(in.getKey(), "finding.key");
  value.signature = text(in.getSignature(), "finding.signature");
  value.more_places = in.getMorePlaces();
  return value;
}

std::vector<Finding> read_findings(capnp::List<schema::Finding>::Reader in) {
  return list<Finding>(in, kFindingsPerResultMax, "findings",
                       [](schema::Finding::Reader item) { return read(item); });
}

UnitInfo read(schema::UnitInfo::Reader in) {
  UnitInfo value;
  value.dir = text(in.getDir(), "unit.dir");
  value.module_path = text(in.getModulePath(), "unit.module_path");
  value.go_version = text(in.getGoVersion(), "unit.go_version");
  value.vendored = in.getVendored();
  value.workspace = text(in.getWorkspace(), "unit.workspace");
  value.outcome = word_from<Outcome>(in.getOutcome(), "unit.outcome");
  value.reason = word_from<Reason>(in.getReason(), "unit.reason");
  value.findings = read_findings(in.getFindings());
  return value;
}

CustomCheck read(schema::CustomCheck::Reader in) {
  return {text(in.getName(), "custom.name"),
          texts(in.getCommand(), "custom.command", kArgumentBytesMax), in.getLimitSeconds(),
          word_from<CheckParser>(in.getParser(), "custom.parser")};
}

ValidationSettings read(schema::ValidationSettings::Reader in) {
  ValidationSettings value;
  const auto limits = in.getLimits();
  value.limits = {limits.getCpuMillis(), limits.getMemoryBytes(), limits.getPids(),
                  limits.getTmpBytes(), limits.getOutputBytes()};
  value.packages = texts(in.getPackages(), "settings.packages");
  value.tags = texts(in.getTags(), "settings.tags");
  value.build = in.getBuild();
  value.vet = in.getVet();
  const auto test = in.getTest();
  value.test.enabled = test.getEnabled();
  value.test.timeout_s = test.getTimeoutSeconds();
  value.test.count = test.getCount();
  value.test.race = test.getRace();
  value.test.short_mode = test.getShortMode();
  value.test.shuffle = text(test.getShuffle(), "settings.test.shuffle");
  value.test.run = text(test.getRun(), "settings.test.run");
  value.test.skip = text(test.getSkip(), "settings.test.skip");
  value.custom = list<CustomCheck>(in.getCustom(), kListMax, "settings.custom",
                                   [](schema::CustomCheck::Reader item) { return read(item); });
  value.check_limit_s = in.getCheckLimitSeconds();
  value.acquire_limit_s = in.getAcquireLimitSeconds();
  value.build_cache = word_from<BuildCache>(in.getBuildCache(), "settings.build_cache");
  value.image = text(in.getImage(), "settings.image");
  value.image_without_c_compiler = in.getImageWithoutCCompiler();
  value.go_private = text(in.getGoPrivate(), "settings.go_private");
  value.go_nosumdb = text(in.getGoNoSumDb(), "settings.go_nosumdb");
  value.require_enforced_egress = in.getRequireEnforcedEgress();
  return value;
}

Work read_work(schema::TaskSpec::Work::Reader in) {
  switch (in.which()) {
    case schema::TaskSpec::Work::ACQUIRE_SOURCE: {
      const auto from = in.getAcquireSource();
      return AcquireSource{read(from.getSource()), text(from.getPinnedCommit(), "pinned_commit"),
                           texts(from.getSubdirs(), "subdirs")};
    }
    case schema::TaskSpec::Work::ACQUIRE_MODULES: {
      const auto from = in.getAcquireModules();
      return AcquireModules{text(from.getCommit(), "commit"), read(from.getUnit()),
                            word_from<Side>(from.getSide(), "side"), from.getVariant()};
    }
    case schema::TaskSpec::Work::EXECUTE: {
      const auto from = in.getExecute();
      return Execute{text(from.getCommit(), "commit"),
                     read(from.getUnit()),
                     word_from<Side>(from.getSide(), "side"),
                     from.getVariant(),
                     from.getRepeat(),
                     text(from.getImage(), "image"),
                     read(from.getScan()),
                     from.getOnlyScan()};
    }
    case schema::TaskSpec::Work::NO_OP: return NoOp{};
    case schema::TaskSpec::Work::MUTATE: {
      const auto from = in.getMutate();
      return Mutate{text(from.getCommit(), "commit"),
                    read(from.getUnit()),
                    read(from.getChange()),
                    from.getVariant(),
                    read_targets(from.getResolved(), "resolved"),
                    read_vulnerabilities(from.getVulnerabilities())};
    }
    case schema::TaskSpec::Work::BUILD_TOOL: {
      const auto from = in.getBuildTool();
      return BuildTool{read(from.getTool()), text(from.getImage(), "image")};
    }
  }
  throw UnknownMember{};
}

SourceFacts read(schema::SourceFacts::Reader in) {
  SourceFacts value;
  value.commit = text(in.getCommit(), "source.commit");
  value.tree = text(in.getTree(), "source.tree");
  value.files = in.getFiles();
  value.bytes = in.getBytes();
  value.committed = {in.getCommittedMicros()};
  std::size_t findings = 0;
  value.units = list<UnitInfo>(in.getUnits(), kUnitsPerRepositoryMax, "source.units",
                               [&findings](schema::UnitInfo::Reader item) {
                                 UnitInfo unit = read(item);
                                 findings += unit.findings.size();
                                 if (findings > kFindingsPerResultMax) {
                                   throw Malformed{"source.units have too many findings"};
                                 }
                                 return unit;
                               });
  return value;
}

ModuleFacts read(schema::ModuleFacts::Reader in) {
  return {text(in.getTree(), "modules.tree"), in.getCompleted(), in.getModules(),
          in.getCacheBytes()};
}

CheckRecord read(schema::CheckRecord::Reader in) {
  CheckRecord value;
  value.check = word_from<CheckKind>(in.getCheck(), "check.check");
  value.name = text(in.getName(), "check.name");
  value.command = texts(in.getCommand(), "check.command", kArgumentBytesMax);
  value.outcome = word_from<Outcome>(in.getOutcome(), "check.outcome");
  value.reason = word_from<Reason>(in.getReason(), "check.reason");
  value.exit_code = in.getExitCode();
  value.truncated = in.getTruncated();
  value.duration_us = in.getDurationMicros();
  value.packages = in.getPackages();
  value.tests = in.getTests();
  value.tests_not_run = in.getTestsNotRun();
  return value;
}

Evidence read(schema::Evidence::Reader in) {
  Evidence value;
  value.image = text(in.getImage(), "evidence.image");
  value.go_version = text(in.getGoVersion(), "evidence.go_version");
  value.engine = text(in.getEngine(), "evidence.engine");
  value.egress = text(in.getEgress(), "evidence.egress");
  value.proxy_mode = text(in.getProxyMode(), "evidence.proxy_mode");
  value.build_cache = text(in.getBuildCache(), "evidence.build_cache");
  value.parser_version = in.getParserVersion();
  value.wrapper = text(in.getWrapper(), "evidence.wrapper");
  value.notes = texts(in.getNotes(), "evidence.notes");
  return value;
}

LogRef read(schema::LogRef::Reader in) {
  LogRef value;
  value.check = word_from<CheckKind>(in.getCheck(), "log.check");
  value.name = text(in.getName(), "log.name");
  value.stream = word_from<Stream>(in.getStream(), "log.stream");
  value.artifact = digest(in.getArtifact(), "log.artifact");
  value.bytes = in.getBytes();
  value.truncated = in.getTruncated();
  return value;
}

}  // namespace

TaskSpec read(schema::TaskSpec::Reader in) {
  TaskSpec value;
  value.id = TaskId{in.getId()};
  value.campaign = CampaignId{in.getCampaign()};
  value.repository = RepositoryId{in.getRepository()};
  value.unit = UnitId{in.getUnit()};
  value.kind = word_from<TaskKind>(in.getKind(), "kind");
  value.work = read_work(in.getWork());
  value.settings = read(in.getSettings());
  return value;
}

TaskResult read(schema::TaskResult::Reader in) {
  TaskResult value;
  value.task = TaskId{in.getTask()};
  value.token = Token{in.getToken()};
  value.ending = word_from<Ending>(in.getEnding(), "ending");
  value.outcome = word_from<Outcome>(in.getOutcome(), "outcome");
  value.reason = word_from<Reason>(in.getReason(), "reason");
  value.message = text(in.getMessage(), "message", kMessageBytesMax);
  value.findings = read_findings(in.getFindings());
  value.findings_truncated = in.getFindingsTruncated();
  value.findings_artifact = digest(in.getFindingsArtifact(), "findings_artifact");
  value.checks = list<CheckRecord>(in.getChecks(), kListMax, "checks",
                                   [](schema::CheckRecord::Reader item) { return read(item); });
  if (in.hasSource()) value.source = read(in.getSource());
  if (in.hasModules()) value.modules = read(in.getModules());
  value.evidence = read(in.getEvidence());
  value.logs = list<LogRef>(in.getLogs(), kListMax, "logs",
                            [](schema::LogRef::Reader item) { return read(item); });
  value.started = wall_time(in.getStarted(), "started");
  value.finished = wall_time(in.getFinished(), "finished");
  if (in.hasChange()) value.change = read(in.getChange());
  if (in.hasScan()) value.scan = read(in.getScan());
  if (in.hasTool()) value.tool = read(in.getTool());
  return value;
}

std::vector<Finding> read(schema::Findings::Reader in) {
  return read_findings(in.getFindings());
}

}  // namespace cupel::wire
