// What a scan says: the scanner's stream, and what the scanner by itself does not see.
#include "common/core/limits.hpp"
#include "worker/core/go/assess.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

constexpr std::size_t kStderrBytes = 64 * 1024;

std::string_view level_text(VulnLevel level) {
  switch (level) {
    case VulnLevel::symbol: return "called";
    case VulnLevel::package: return "imported, not called";
    case VulnLevel::module: return "required, not imported";
  }
  return {};
}

std::string described(const Vulnerability& found) {
  std::string text = found.osv + ": " + found.module;
  if (!found.found_version.empty()) text += "@" + found.found_version;
  text += found.fixed_version.empty() ? ", no fix" : ", fixed in " + found.fixed_version;
  text += ": ";
  if (!found.symbol.empty()) text += found.symbol + " is ";
  text += level_text(found.level);
  if (!found.summary.empty()) text += ": " + found.summary;
  return text;
}

/// A scanner that stopped over its database names the file.
Reason reason_of(std::string_view words) {
  if (contains(words, "fetching vulnerabilities")) return Reason::vulndb_corrupt;
  if (contains(words, "no packages matched the provided patterns")) return Reason::no_packages;
  return Reason::scan_failed;
}

/// The package that a line of the scanner is about, which names a file or a folder.
const ListedPackage* scanned_package(const Surroundings& around, std::string_view line) {
  constexpr std::string_view kExcluded = "build constraints exclude all Go files in ";
  const std::string_view unit = around.context.unit.dir;
  const auto excluded = line.find(kExcluded);
  if (excluded != std::string_view::npos) {
    return around.list.in_dir(source_path(trim(line.substr(excluded + kExcluded.size())), unit));
  }
  const Position position = split_position(line);
  if (position.line == 0) return nullptr;
  return around.list.owner_of(source_path(trim(position.file), unit));
}

/// The package that the scanner could not load for want of a C compiler. Where the scan has no list
/// beside it, nobody can tell.
const ListedPackage* without_cgo(const Surroundings& around, const Findings& findings,
                                 std::string_view words) {
  if (around.context.cgo_available) return nullptr;
  for (const std::string_view line : lines_of(words)) {
    const ListedPackage* package = scanned_package(around, line);
    if (package != nullptr && findings.lacks_cgo(package->import_path, line)) return package;
  }
  if (reason_of(words) != Reason::no_packages) return nullptr;
  const auto found = std::ranges::find_if(around.list.packages, [](const ListedPackage& listed) {
    return !listed.dep_only && listed.uses_cgo;
  });
  return found == around.list.packages.end() ? nullptr : &*found;
}

}  // namespace

void Findings::vulnerability(const Vulnerability& found) {
  Finding& finding = push(FindingKind::vuln, found.package, {}, described(found));
  finding.file.clear();
  finding.line = finding.column = 0;
  finding.analyzer = found.osv;
  identify(finding, around_.context.unit);
  finding.key = std::string(cut(found.osv + " " + found.module, kNameBytesMax));
  // Code that was only imported and is now called is another problem of the same name.
  finding.signature =
      std::string(cut("vuln|" + finding.key + "|" + std::string(name(found.level)), kNameBytesMax));
  if (found.level == VulnLevel::symbol) out_.failing = out_.explained = true;
}

void Findings::note_about(std::string_view subject, std::string message) {
  note({}, std::move(message));
  std::string& key = out_.findings.back().key;
  key = std::string(cut(key + "|" + std::string(subject), kNameBytesMax));
}

Finding scan_problem(const UnitInfo& unit, std::string message) {
  Finding finding;
  finding.kind = FindingKind::scan_error;
  finding.check = CheckKind::scan;
  finding.message = std::move(message);
  identify(finding, unit);
  return finding;
}

Assessment assess_scan(const Surroundings& around) {
  Assessment assessment;
  Findings findings(around, assessment);
  const std::string_view words = trim(cut(around.report.err.bytes, kStderrBytes));
  if (!around.context.scan) {
    findings.obstacle(FindingKind::scan_error, Reason::scan_failed, {}, {},
                      "a scan that nobody asked for");
    return assessment;
  }
  const ScanContext& context = *around.context.scan;
  scan::StreamReport report = scan::read_stream(around.report.out.bytes, context.expected);
  if (around.report.exit_code != 0 || !report.conclusive()) {
    std::string message(words);
    if (!report.conclusive()) {
      message += (message.empty() ? "" : "\n") + std::string("the scan is not complete: ") +
                 report.problem;
    }
    if (message.empty()) message = "the scanner ended with an error and said nothing";
    if (const ListedPackage* package = without_cgo(around, findings, words)) {
      findings.obstacle(FindingKind::environment, Reason::cgo_unavailable, package->import_path, {},
                        std::move(message));
    } else {
      findings.obstacle(FindingKind::scan_error, reason_of(words), {}, {}, std::move(message));
    }
    return assessment;
  }
  if (!words.empty()) findings.note({}, "scanner_said: " + std::string(words));
  std::size_t not_imported = 0;
  for (const Vulnerability& found : report.facts.vulnerabilities) {
    // Every program has the standard library: what it doesn't import says nothing about it.
    if (found.module == "stdlib" && found.level == VulnLevel::module) {
      ++not_imported;
    } else {
      findings.vulnerability(found);
    }
  }
  if (not_imported > 0) {
    findings.note({}, "stdlib_not_imported: " + std::to_string(not_imported) +
                          " advisories about packages of the standard library that the unit does "
                          "not import");
  }
  for (const Vulnerability& found : report.withdrawn) {
    findings.note_about(found.osv + " " + found.module, "withdrawn: " + described(found));
  }
  for (const std::string& note :
       scan::not_loaded_notes(context.required, report.modules, context.advisories)) {
    findings.note_about(note, note);
  }
  assessment.packages = static_cast<std::uint32_t>(report.modules.size());
  report.facts.database_id = context.database_id;
  assessment.scan = std::move(report.facts);
  return assessment;
}

}  // namespace cupel::worker::go
