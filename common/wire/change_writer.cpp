// Sources, changes, scans and what came of them on their way into a message.
#include "common/wire/fields.hpp"

namespace cupel::wire {

void write(schema::Source::Builder out, const Source& value) {
  if (const auto* const git = std::get_if<GitSource>(&value)) {
    auto to = out.initGit();
    to.setUrl(Text(git->url));
    to.setRef(Text(git->ref));
  } else if (const auto* const bundle = std::get_if<BundleSource>(&value)) {
    auto to = out.initBundle();
    to.setArtifact(data(bundle->artifact));
    to.setCommit(Text(bundle->commit));
    to.setName(cut(bundle->name));
  } else {
    const auto& module = std::get<ModuleSource>(value);
    auto to = out.initModule();
    to.setPath(Text(module.path));
    to.setVersion(Text(module.version));
  }
}

void write(schema::ModuleTarget::Builder out, const ModuleTarget& value) {
  out.setModule(Text(value.module));
  out.setVersion(Text(value.version));
}

void write(schema::Change::Builder out, const Change& value) {
  if (const auto* const upgrade = std::get_if<Upgrade>(&value)) {
    auto to = out.initUpgrade();
    to.setSelect(word<schema::Select>(upgrade->select));
    put_list(upgrade->modules, [&](unsigned n) { return to.initModules(n); });
    to.setMinAgeSeconds(upgrade->min_age_s);
    to.setAllowMajor(upgrade->allow_major);
    put_texts(upgrade->deny, std::string::npos, [&](unsigned n) { return to.initDeny(n); });
    put_list(upgrade->pins, [&](unsigned n) { return to.initPins(n); });
  } else if (const auto* const go = std::get_if<GoVersionChange>(&value)) {
    auto to = out.initGo();
    to.setVersion(Text(go->version));
    to.setRaiseDirective(go->raise_directive);
  } else if (const auto* const replace = std::get_if<Replace>(&value)) {
    auto list = out.initReplace().initModules(static_cast<unsigned>(replace->modules.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setModule(Text(replace->modules[i].module));
      write(list[i].initWith(), replace->modules[i].with);
    }
  } else if (const auto* const patch = std::get_if<ApplyPatch>(&value)) {
    out.setPatch(Text(patch->diff));
  } else {
    out.setNone();
  }
}

void write(schema::ToolPin::Builder out, const ToolPin& value) {
  out.setPackage(Text(value.package));
  out.setModule(Text(value.module));
  out.setVersion(Text(value.version));
  out.setSum(Text(value.sum));
}

void write(schema::ScanInput::Builder out, const ScanInput& value) {
  out.setScanner(data(value.scanner));
  out.setVersion(Text(value.version));
  out.setDatabase(data(value.database));
  out.setDatabaseId(Text(value.database_id));
  out.setDatabaseTime(Text(value.database_time));
  out.setProblem(word<schema::Reason>(value.problem));
  out.setMessage(cut(value.message));
  out.setLimitSeconds(value.limit_s);
}

void write(schema::Vulnerability::Builder out, const Vulnerability& value) {
  out.setOsv(cut(value.osv));
  out.setModule(cut(value.module));
  out.setFoundVersion(cut(value.found_version));
  out.setFixedVersion(cut(value.fixed_version));
  out.setLevel(word<schema::VulnLevel>(value.level));
  out.setPackage(cut(value.package));
  out.setSymbol(cut(value.symbol));
  out.setSummary(cut(value.summary));
}

namespace {

void write(schema::GateFinding::Builder out, const GateFinding& value) {
  out.setGate(word<schema::Gate>(value.gate));
  out.setDetail(cut(value.detail));
}

void write(schema::ModuleMove::Builder out, const ModuleMove& value) {
  out.setModule(cut(value.module));
  out.setFrom(cut(value.from));
  out.setTo(cut(value.to));
  out.setDirect(value.direct);
  out.setTarget(value.target);
}

void write(schema::Candidate::Builder out, const Candidate& value) {
  out.setModule(cut(value.module));
  out.setCurrent(cut(value.current));
  out.setLatest(cut(value.latest));
  out.setChosen(cut(value.chosen));
  put_texts(value.notes, kNameBytesMax, [&](unsigned n) { return out.initNotes(n); });
}

template <typename Value, typename Init>
void put_local(const std::vector<Value>& values, Init init) {
  auto list = init(static_cast<unsigned>(values.size()));
  for (unsigned i = 0; i < list.size(); ++i) write(list[i], values[i]);
}

}  // namespace

void write(schema::ChangeFacts::Builder out, const ChangeFacts& value) {
  out.setTree(cut(value.tree));
  out.setNotAffected(word<schema::NotAffected>(value.not_affected));
  put_list(value.resolved, [&](unsigned n) { return out.initResolved(n); });
  put_local(value.moved, [&](unsigned n) { return out.initMoved(n); });
  put_local(value.candidates, [&](unsigned n) { return out.initCandidates(n); });
  out.setGoBefore(cut(value.go_before));
  out.setGoAfter(cut(value.go_after));
  put_local(value.gates, [&](unsigned n) { return out.initGates(n); });
  out.setPatch(data(value.patch));
  out.setPatchBytes(value.patch_bytes);
}

void write(schema::ScanFacts::Builder out, const ScanFacts& value) {
  out.setScannerVersion(cut(value.scanner_version));
  out.setDatabaseId(cut(value.database_id));
  out.setDatabaseTime(cut(value.database_time));
  out.setGoVersion(cut(value.go_version));
  put_list(value.vulnerabilities, [&](unsigned n) { return out.initVulnerabilities(n); });
}

void write(schema::ToolFacts::Builder out, const ToolFacts& value) {
  write(out.initTool(), value.tool);
  out.setImage(cut(value.image));
  out.setGoVersion(cut(value.go_version));
  out.setBinary(data(value.binary));
  out.setBytes(value.bytes);
}

}  // namespace cupel::wire
