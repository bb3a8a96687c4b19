// A check of the campaign's own. Its exit code is the result; a parser says which problems there
// are. A tool that reports and ends with 0 has let them pass, so they are remarks.
#include "common/core/limits.hpp"
#include "worker/core/go/assess.hpp"
#include "worker/core/go/check_output.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>
#include <map>

namespace cupel::worker::go {
namespace {

CheckParser parser_of(const ValidationSettings& settings, std::string_view name) {
  const auto found = std::ranges::find(settings.custom, name, &CustomCheck::name);
  return found == settings.custom.end() ? CheckParser::exit_code : found->parser;
}

void exit_finding(const Surroundings& around, std::string_view name, Findings& findings) {
  const RunReport& report = around.report;
  Output output;
  output.add(report.err.bytes);
  if (trim(report.err.bytes).empty()) output.add(report.out.bytes);
  std::string message =
      "check " + std::string(name) + " ended with exit code " + std::to_string(report.exit_code);
  const std::string said = output.message(kMessageBytesMax - 256);
  if (!said.empty()) {
    message += ": " + said;
  } else if (report.exit_code == 127) {
    message += ": neither the image nor the repository has such a command";
  } else if (report.exit_code == 126) {
    message += ": the command is there and can't be run";
  }
  if (output.no_space) {
    findings.obstacle(FindingKind::resource_limit, Reason::resource_disk, {}, name, message);
  } else {
    findings.add(FindingKind::package_failure, {}, name, message);
  }
}

/// Two equal problems are two: the second has a key of its own.
void number_equal_keys(std::vector<Finding>& findings) {
  std::map<std::string, int> seen;
  for (Finding& finding : findings) {
    const int count = ++seen[finding.key];
    if (count > 1) finding.key += "|" + std::to_string(count);
  }
}

}  // namespace

void Findings::reported(const Reported& one, std::string_view check, bool remark) {
  const bool counts = !remark && !one.remark;
  Finding& finding = push(counts ? FindingKind::vet : FindingKind::note, {}, {}, one.message);
  finding.analyzer = std::string(check);
  if (!one.rule.empty()) finding.analyzer += "/" + one.rule;
  finding.file = one.file.empty() ? "" : source_path(one.file, around_.context.unit.dir);
  finding.line = one.line;
  finding.column = one.column;
  identify_reported(finding, around_.context.unit);
  if (counts) out_.failing = out_.explained = true;
}

Assessment assess_custom(const Surroundings& around, std::string_view name) {
  Assessment out;
  Findings findings(around, out);
  const RunReport& report = around.report;
  const bool passed = report.exit_code == 0;
  CheckOutput said;
  switch (parser_of(around.context.settings, name)) {
    case CheckParser::exit_code: break;
    case CheckParser::lines: said = read_lines(report.out.bytes + "\n" + report.err.bytes); break;
    case CheckParser::sarif: {
      auto read = read_sarif(report.out.bytes);
      if (!read) {
        // What was to be read can't be: neither a pass nor a failure is proven.
        Output told;
        told.add(report.err.bytes);
        const std::string words = told.message(kMessageBytesMax - 256);
        findings.obstacle(FindingKind::environment, Reason::parse_failed, {}, name,
                          "check " + std::string(name) + " ended with exit code " +
                              std::to_string(report.exit_code) +
                              " and printed no SARIF 2.1.0 document" +
                              (words.empty() ? "" : ": " + words));
        return out;
      }
      said = *std::move(read);
      break;
    }
  }
  for (const Reported& one : said.all) findings.reported(one, name, passed);
  number_equal_keys(out.findings);
  if (said.truncated) {
    findings.note({}, "findings_cut: check " + std::string(name) + " reported more than " +
                          std::to_string(kReportedMax) + " problems");
  }
  if (!passed && !out.failing) exit_finding(around, name, findings);
  return out;
}

}  // namespace cupel::worker::go
