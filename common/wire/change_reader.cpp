// Sources, changes, scans and what came of them out of a message of somebody else.
#include "common/wire/fields.hpp"

namespace cupel::wire {

Source read(schema::Source::Reader in) {
  switch (in.which()) {
    case schema::Source::GIT: {
      const auto from = in.getGit();
      return GitSource{text(from.getUrl(), "url"), text(from.getRef(), "ref")};
    }
    case schema::Source::BUNDLE: {
      const auto from = in.getBundle();
      return BundleSource{digest(from.getArtifact(), "artifact"), text(from.getCommit(), "commit"),
                          text(from.getName(), "name")};
    }
    case schema::Source::MODULE: {
      const auto from = in.getModule();
      return ModuleSource{text(from.getPath(), "path"), text(from.getVersion(), "version")};
    }
  }
  throw UnknownMember{};
}

std::vector<ModuleTarget> read_targets(capnp::List<schema::ModuleTarget>::Reader in,
                                       const char* what) {
  return list<ModuleTarget>(in, kListMax, what, [](schema::ModuleTarget::Reader item) {
    return ModuleTarget{text(item.getModule(), "module"), text(item.getVersion(), "version")};
  });
}

Change read(schema::Change::Reader in) {
  switch (in.which()) {
    case schema::Change::NONE: return NoChange{};
    case schema::Change::UPGRADE: {
      const auto from = in.getUpgrade();
      return Upgrade{word_from<Select>(from.getSelect(), "upgrade.select"),
                     read_targets(from.getModules(), "upgrade.modules"),
                     from.getMinAgeSeconds(),
                     from.getAllowMajor(),
                     texts(from.getDeny(), "upgrade.deny"),
                     read_targets(from.getPins(), "upgrade.pins")};
    }
    case schema::Change::GO: {
      const auto from = in.getGo();
      return GoVersionChange{text(from.getVersion(), "go.version"), from.getRaiseDirective()};
    }
    case schema::Change::REPLACE:
      return Replace{list<Replacement>(in.getReplace().getModules(), kListMax, "replace.modules",
                                       [](schema::Replacement::Reader item) {
                                         return Replacement{text(item.getModule(), "module"),
                                                            read(item.getWith())};
                                       })};
    case schema::Change::PATCH: return ApplyPatch{text(in.getPatch(), "patch", kPatchBytesMax)};
  }
  throw UnknownMember{};
}

ToolPin read(schema::ToolPin::Reader in) {
  return {text(in.getPackage(), "tool.package"), text(in.getModule(), "tool.module"),
          text(in.getVersion(), "tool.version"), text(in.getSum(), "tool.sum")};
}

ScanInput read(schema::ScanInput::Reader in) {
  return {digest(in.getScanner(), "scan.scanner"),
          text(in.getVersion(), "scan.version"),
          digest(in.getDatabase(), "scan.database"),
          text(in.getDatabaseId(), "scan.database_id"),
          text(in.getDatabaseTime(), "scan.database_time"),
          word_from<Reason>(in.getProblem(), "scan.problem"),
          text(in.getMessage(), "scan.message"),
          in.getLimitSeconds()};
}

std::vector<Vulnerability> read_vulnerabilities(capnp::List<schema::Vulnerability>::Reader in) {
  return list<Vulnerability>(in, kVulnerabilitiesMax, "vulnerabilities",
                             [](schema::Vulnerability::Reader item) {
                               return Vulnerability{text(item.getOsv(), "osv"),
                                                    text(item.getModule(), "module"),
                                                    text(item.getFoundVersion(), "found"),
                                                    text(item.getFixedVersion(), "fixed"),
                                                    word_from<VulnLevel>(item.getLevel(), "level"),
                                                    text(item.getPackage(), "package"),
                                                    text(item.getSymbol(), "symbol"),
                                                    text(item.getSummary(), "summary")};
                             });
}

ChangeFacts read(schema::ChangeFacts::Reader in) {
  ChangeFacts value;
  value.tree = text(in.getTree(), "change.tree");
  value.not_affected = word_from<NotAffected>(in.getNotAffected(), "change.not_affected");
  value.resolved = read_targets(in.getResolved(), "change.resolved");
  value.moved = list<ModuleMove>(
      in.getMoved(), kModuleMovesMax, "change.moved", [](schema::ModuleMove::Reader item) {
        return ModuleMove{text(item.getModule(), "module"), text(item.getFrom(), "from"),
                          text(item.getTo(), "to"), item.getDirect(), item.getTarget()};
      });
  value.candidates = list<Candidate>(
      in.getCandidates(), kListMax, "change.candidates", [](schema::Candidate::Reader item) {
        return Candidate{text(item.getModule(), "module"), text(item.getCurrent(), "current"),
                         text(item.getLatest(), "latest"), text(item.getChosen(), "chosen"),
                         texts(item.getNotes(), "notes")};
      });
  value.go_before = text(in.getGoBefore(), "change.go_before");
  value.go_after = text(in.getGoAfter(), "change.go_after");
  value.gates = list<GateFinding>(in.getGates(), kListMax, "change.gates",
                                  [](schema::GateFinding::Reader item) {
                                    return GateFinding{word_from<Gate>(item.getGate(), "gate"),
                                                       text(item.getDetail(), "detail")};
                                  });
  value.patch = digest(in.getPatch(), "change.patch");
  value.patch_bytes = in.getPatchBytes();
  return value;
}

ScanFacts read(schema::ScanFacts::Reader in) {
  return {text(in.getScannerVersion(), "scan.scanner_version"),
          text(in.getDatabaseId(), "scan.database_id"),
          text(in.getDatabaseTime(), "scan.database_time"),
          text(in.getGoVersion(), "scan.go_version"),
          read_vulnerabilities(in.getVulnerabilities())};
}

ToolFacts read(schema::ToolFacts::Reader in) {
  return {read(in.getTool()), text(in.getImage(), "tool.image"),
          text(in.getGoVersion(), "tool.go_version"), digest(in.getBinary(), "tool.binary"),
          in.getBytes()};
}

}  // namespace cupel::wire
