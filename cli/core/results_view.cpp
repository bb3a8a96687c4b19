#include "cli/core/results_view.hpp"

#include "cli/core/change_report.hpp"
#include "cli/core/groups.hpp"
#include "cli/core/next_steps.hpp"
#include "cli/core/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace cupel::cli {
namespace {

constexpr std::size_t kGroupsShown = 5;
constexpr std::size_t kGroupWords = 240;  // bytes; the cause of a failed download stands at its end

std::string seconds_text(const json& unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", number_of(unit, "seconds"));
  return text.data();
}

std::string_view color_of(const std::string& verdict) {
  if (verdict == "passing" || verdict == "compatible" || verdict == "fixed") return "\x1B[32m";
  if (verdict == "failing" || verdict == "regressed" || verdict == "changed_failure")
    return "\x1B[31m";
  if (verdict == "inconclusive" || verdict == "refused" || verdict == "flaky") return "\x1B[33m";
  return "";
}

/// What can be done about the reasons of units without an answer, each reason once.
std::string next_steps(const std::vector<json>& results) {
  std::set<std::string> reasons;
  for (const json& unit : results) {
    const std::string verdict = verdict_of(unit);
    if (verdict == "inconclusive" || verdict == "refused") reasons.insert(text_of(unit, "reason"));
  }
  std::string out;
  for (const std::string& reason : reasons) {
    const std::string_view step = next_step(parse_name<Reason>(reason).value_or(Reason::none));
    if (!step.empty()) out += "  " + reason + ": " + std::string(step) + "\n";
  }
  return out.empty() ? "" : "what helps:\n" + out;
}

}  // namespace

std::string colored(const std::string& verdict, bool color) {
  const std::string_view code = color ? color_of(verdict) : "";
  return code.empty() ? verdict : std::string(code) + verdict + "\x1B[0m";
}

std::string headline(const json& unit, std::size_t columns) {
  const std::string message = first_line(message_of(unit), columns);
  const std::string verdict = verdict_of(unit);
  if (!message.empty() || verdict == "passing") return message;
  if (verdict == "compatible" || verdict == "fixed") return first_line(change_note(unit), columns);
  for (const json& finding : list_of(unit, "findings")) {
    const auto kind = parse_name<FindingKind>(text_of(finding, "kind"));
    if (!kind || !is_conclusive(*kind)) continue;
    const std::string subject =
        text_of(finding, "test").empty() ? text_of(finding, "package") : text_of(finding, "test");
    return first_line(text_of(finding, "kind") + (subject.empty() ? "" : " " + subject) + ": " +
                          text_of(finding, "message"),
                      columns);
  }
  return "";
}

std::string results_table(const std::vector<json>& results, const ViewStyle& style) {
  Table table{
      {"UNIT", "VERDICT", "REASON", "SECONDS", "MESSAGE"}, {}, {false, false, false, true, false}};
  for (const json* unit : in_reading_order(results)) {
    const std::string reason = text_of(*unit, "reason");
    table.rows.push_back({first_line(unit_name(*unit), 80), verdict_of(*unit),
                          reason == "none" ? "" : reason, seconds_text(*unit),
                          headline(*unit, 400)});
  }
  const std::string plain = render(table, style.columns);
  if (!style.color) return plain;
  // Colours are put in afterwards, so that they count for no width.
  std::string out;
  std::size_t row = 0;
  const auto ordered = in_reading_order(results);
  for (std::size_t at = 0; at < plain.size(); ++row) {
    const std::size_t end = plain.find('\n', at);
    std::string line = plain.substr(at, end - at);
    if (row > 0) {
      const std::string verdict = verdict_of(*ordered[row - 1]);
      const std::size_t place =
          line.find("  " + verdict,
                    std::min(line.size(), first_line(unit_name(*ordered[row - 1]), 80).size()));
      if (place != std::string::npos)
        line.replace(place + 2, verdict.size(), colored(verdict, true));
    }
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

std::string results_summary(const ReportData& data) {
  std::string out = sum_line(data.results) + "\n";
  const std::vector<Group> groups = group_failures(data.results);
  for (std::size_t i = 0; i < groups.size() && i < kGroupsShown; ++i) {
    const Group& group = groups[i];
    const std::string dependency = dependency_of(group);
    out += "  " + group.id + "  " + std::to_string(group.units.size()) +
           (group.units.size() == 1 ? " unit  " : " units  ") +
           (dependency.empty() ? "" : dependency + ": ") + group.kind + ": " +
           first_line(group.message, kGroupWords) + "\n";
  }
  if (groups.size() > kGroupsShown) {
    out += "  and " + std::to_string(groups.size() - kGroupsShown) + " more groups of failures\n";
  }
  if (has_change(data)) {
    const PatchCounts patches = count_patches(data.results);
    out += "patches: " + std::to_string(patches.ready) + " ready, " +
           std::to_string(patches.withheld) + " withheld\n";
  }
  if (const std::string noise = noise_sentence(noise_of(data)); !noise.empty()) out += noise + "\n";
  return out + next_steps(data.results);
}

}  // namespace cupel::cli
