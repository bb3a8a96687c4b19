#include "cli/core/change_report.hpp"
#include "cli/core/reports.hpp"
#include "cli/core/results_view.hpp"
#include "common/text/utf8.hpp"

#include <array>
#include <cstdio>

namespace cupel::cli {
namespace {

constexpr std::size_t kOutputBytesMax = 64 * 1024;  // consumers refuse huge nodes
constexpr std::size_t kCasesMax = 250'000;          // below what known consumers accept for a file
constexpr std::size_t kFindingsPerUnitMax = 10'000;

std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + xml_text(text::cut_to_bytes(value, 1024)) + "\"";
}

std::string seconds(const json& unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", number_of(unit, "seconds"));
  return text.data();
}

struct Suite {
  std::string cases;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
};

std::string problem(const char* element, std::string_view message, std::string_view type,
                    std::string_view body) {
  return std::string("    <") + element + attribute("message", message) + attribute("type", type) +
         ">" + xml_text(text::cut_to_bytes(body, kOutputBytesMax)) + "</" + element + ">\n";
}

/// The unit's verdict as a case of its own, so that a unit without findings is visible as well.
void add_verdict(Suite& suite, const json& unit) {
  const std::string verdict = verdict_of(unit);
  const std::string reason = text_of(unit, "reason");
  const std::string message = headline(unit, 400);
  suite.cases += "   <testcase" + attribute("classname", unit_name(unit)) +
                 attribute("name", "verdict") + attribute("time", seconds(unit)) + ">\n";
  ++suite.tests;
  const std::string label = verdict + (reason.empty() || reason == "none" ? "" : ":" + reason);
  if (verdict == "failing" || verdict == "regressed" || verdict == "changed_failure") {
    ++suite.failures;
    suite.cases += problem("failure", message, label, text_of(unit, "message"));
  } else if (verdict == "inconclusive") {
    ++suite.errors;
    suite.cases += problem("error", message, label, text_of(unit, "message"));
  } else if (verdict == "refused" || verdict == "cancelled" || verdict == "open" ||
             verdict == "not_affected" || verdict == "flaky" || verdict == "broken_before") {
    ++suite.skipped;
    suite.cases += "    <skipped" +
                   attribute("message", label + (message.empty() ? "" : ": " + message)) + "/>\n";
  }
  suite.cases += "   </testcase>\n";
}

void add_findings(Suite& suite, const json& unit, std::size_t& cases_left) {
  std::size_t shown = 0;
  // With two sides only what the change brought is a failure of a case.
  const json comparison = unit.is_object() ? unit.value("comparison", json()) : json();
  const json& findings =
      comparison.is_object() ? list_of(comparison, "introduced") : list_of(unit, "findings");
  for (const json& finding : findings) {
    if (comparison.is_object() && text_of(finding, "fate") != "confirmed") continue;
    const auto kind = parse_name<FindingKind>(text_of(finding, "kind"));
    if (!kind || !is_conclusive(*kind)) continue;
    if (cases_left == 0 || shown == kFindingsPerUnitMax) return;
    --cases_left;
    ++shown;
    const std::string package = text_of(finding, "package");
    const std::string test = text_of(finding, "test");
    std::string title = test;
    if (title.empty()) title = text_of(finding, "analyzer");
    if (title.empty()) title = text_of(finding, "kind");
    std::string body = text_of(finding, "message");
    if (const std::string file = text_of(finding, "file"); !file.empty()) {
      body = file + ":" + text_of(finding, "line") + ": " + body;
    }
    suite.cases += "   <testcase" +
                   attribute("classname", package.empty() ? unit_name(unit) : package) +
                   attribute("name", title) + ">\n" +
                   problem("failure", first_line(text_of(finding, "message"), 400),
                           text_of(finding, "kind"), body) +
                   "   </testcase>\n";
    ++suite.tests;
    ++suite.failures;
  }
}

std::string counts(const Suite& suite) {
  return attribute("tests", std::to_string(suite.tests)) +
         attribute("failures", std::to_string(suite.failures)) +
         attribute("errors", std::to_string(suite.errors)) +
         attribute("skipped", std::to_string(suite.skipped));
}

/// What holds for the campaign as a whole: a suite without cases, as only suites have properties.
std::string campaign_suite(const ReportData& data) {
  const std::string noise = noise_sentence(noise_of(data));
  if (noise.empty()) return {};
  return "  <testsuite" + attribute("name", "campaign " + text_of(data.campaign, "name")) +
         counts({}) + ">\n   <properties>\n    <property" + attribute("name", "noise") +
         attribute("value", noise) + "/>\n   </properties>\n  </testsuite>\n";
}

}  // namespace

std::string xml_text(std::string_view text) {
  // printable() drops control characters and replaces invalid UTF-8; U+FFFE and U+FFFF are no XML
  // either.
  std::string out;
  const std::string clean = text::printable(text);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;  // also ends "]]>"
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      case '\xEF':
        if (clean.compare(i, 3, "\xEF\xBF\xBE") == 0 || clean.compare(i, 3, "\xEF\xBF\xBF") == 0) {
          out += "\xEF\xBF\xBD";
          i += 2;
          break;
        }
        [[fallthrough]];
      default: out.push_back(c);
    }
  }
  return out;
}

std::string report_junit(const ReportData& data) {
  std::string suites = campaign_suite(data);
  Suite total;
  std::size_t cases_left = kCasesMax;
  for (const json* unit : in_reading_order(data.results)) {
    Suite suite;
    add_verdict(suite, *unit);
    add_findings(suite, *unit, cases_left);
    suites += "  <testsuite" + attribute("name", unit_name(*unit)) + counts(suite) +
              attribute("time", seconds(*unit)) + ">\n" + suite.cases + "  </testsuite>\n";
    total.tests += suite.tests;
    total.failures += suite.failures;
    total.errors += suite.errors;
    total.skipped += suite.skipped;
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
         attribute("name", text_of(data.campaign, "name")) + counts(total) + ">\n" + suites +
         "</testsuites>\n";
}

}  // namespace cupel::cli
