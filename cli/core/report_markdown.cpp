#include "cli/core/change_report.hpp"
#include "cli/core/gate.hpp"
#include "cli/core/groups.hpp"
#include "cli/core/reports.hpp"
#include "cli/core/results_view.hpp"
#include "common/text/units.hpp"
#include "common/text/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cupel::cli {
namespace {

constexpr std::size_t kGroupUnitsShown = 20;
constexpr std::size_t kFindingsShown = 20;

/// Text inside a table cell or a line: nothing of it is markup.
std::string cell(std::string_view text, std::size_t columns) {
  std::string out;
  for (const char c : first_line(text, columns)) {
    if (std::string_view("|\\`*_<>[]&#~").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

/// A code block that the text can't close.
std::string code_block(std::string_view raw) {
  const std::string text = text::printable(raw);
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

/// Blocks are added while they fit; what doesn't is counted.
class Budget {
 public:
  explicit Budget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Keeps room for the sentences that say what is missing.
  bool add(const std::string& block) {
    constexpr std::size_t kReserve = 200;
    if (bytes_max_ != 0 && text_.size() + block.size() + kReserve > bytes_max_) return false;
    text_ += block;
    return true;
  }
  void add_last(const std::string& block) {
    if (bytes_max_ == 0 || text_.size() + block.size() <= bytes_max_) text_ += block;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::size_t bytes_max_;
  std::string text_;
};

std::string head_section(const ReportData& data) {
  const json& campaign = data.campaign;
  std::string out = "# Campaign " + cell(text_of(campaign, "name"), 80) + " (" +
                    text_of(campaign, "id") + ")\n\n";
  out += "**" + sum_line(data.results) + "** – " + judge_gate(data).sentence + "\n\n";
  out += "| verdict | units |\n|---|---:|\n";
  for (const auto& [verdict, count] : count_verdicts(data.results))
    out += "| " + verdict + " | " + std::to_string(count) + " |\n";
  out += "| total | " + std::to_string(data.results.size()) + " |\n\n";
  out += "State " + text_of(campaign, "state") + ", created " + text_of(campaign, "created") +
         ", finished " +
         (text_of(campaign, "finished").empty() ? "not yet" : text_of(campaign, "finished")) +
         ". Campaign file sha256:`" + text_of(campaign, "digest") + "`.\n\n";
  return out;
}

/// A group shows what one of its units printed, and names all.
std::string group_block(const Group& group) {
  const std::string dependency = dependency_of(group);
  std::string out =
      "### " + group.id + ": " + std::to_string(group.units.size()) +
      (group.units.size() == 1 ? " unit" : " units") + ", " +
      (dependency.empty() ? "" : cell(dependency, 200) + ", ") + cell(group.kind, 80) + "\n\n" +
      code_block(group.excerpt.empty() ? group.message : group.excerpt) +
      (group.units.size() > 1 ? "of " + cell(group.example, 200) + ", one of:\n\n" : "\n");
  for (std::size_t i = 0; i < group.units.size() && i < kGroupUnitsShown; ++i)
    out += "- " + cell(group.units[i], 200) + "\n";
  if (group.units.size() > kGroupUnitsShown)
    out += "- and " + std::to_string(group.units.size() - kGroupUnitsShown) + " more\n";
  return out + "\n";
}

std::string row(const json& unit) {
  const std::string reason = text_of(unit, "reason");
  return "| " + cell(unit_name(unit), 200) + " | " + verdict_of(unit) + " | " +
         (reason == "none" ? "" : reason) + " | " +
         text::format_seconds(number_of(unit, "seconds")) + " | " + cell(headline(unit, 160), 160) +
         " |\n";
}

/// Both scans of an upgrade compared: "- scan: resolved GO-2099-0001 (m.org/lib, symbol)".
std::string scan_lines(const json& scan) {
  std::string out;
  for (const char* list : {"introduced", "escalated", "resolved", "persisting"}) {
    std::string found;
    std::size_t shown = 0;
    for (const json& one : list_of(scan, list)) {
      if (shown++ == kFindingsShown) break;
      found += (found.empty() ? "" : ", ") + text_of(one, "osv") + " (" + text_of(one, "module") +
               ", " + text_of(one, "level") + ")";
    }
    if (!found.empty()) out += "- scan: " + std::string(list) + " " + cell(found, 2000) + "\n";
  }
  return out.empty() ? out : out + "\n";
}

std::string detail_block(const json& unit) {
  std::string out = "### " + cell(unit_name(unit), 200) + ": " + verdict_of(unit) + "\n\n";
  std::string facts;
  const auto fact = [&facts](const std::string& label, const std::string& value) {
    if (!value.empty()) facts += (facts.empty() ? "" : ", ") + label + " " + value;
  };
  const std::string commit = text_of(unit, "commit");
  const std::string fault = text_of(unit, "fault");
  fact("module", cell(text_of(unit, "module"), 200));
  fact("commit", commit.empty() ? "" : "`" + commit + "`");
  fact("fault", fault == "none" ? "" : fault);
  if (!facts.empty()) out += facts + "\n\n";
  std::size_t shown = 0;
  const json comparison = unit.is_object() ? unit.value("comparison", json()) : json();
  out += scan_lines(comparison.is_object() ? comparison.value("scan", json()) : json());
  for (const char* list : {"introduced", "resolved", "altered", "flakes"}) {
    for (const json& item : list_of(comparison, list)) {
      if (shown++ == kFindingsShown) break;
      std::string subject = text_of(item, "package");
      if (const std::string test = text_of(item, "test"); !test.empty()) subject += " " + test;
      const bool flake = std::string_view(list) == "flakes";
      out += "- " + std::string(list) + ": " + text_of(item, "kind") + " " + cell(subject, 300) +
             " (" +
             (flake ? text_of(item, "hits") + " of " + text_of(item, "runs") + " runs " +
                          text_of(item, "side")
                    : text_of(item, "fate") + ": " + hits_text(item)) +
             ")\n\n" + code_block(text_of(item, "message")) + "\n";
    }
  }
  const json& findings = list_of(unit, "findings");
  for (const json& finding : findings) {
    if (shown++ == kFindingsShown) break;
    std::string where = text_of(finding, "file");
    if (!where.empty() && number_of(finding, "line") > 0) where += ":" + text_of(finding, "line");
    std::string subject = text_of(finding, "package");
    if (const std::string test = text_of(finding, "test"); !test.empty()) subject += " " + test;
    out += "- " + text_of(finding, "kind") + " " +
           cell(subject + (where.empty() ? "" : " " + where), 300) + "\n\n" +
           code_block(text_of(finding, "message")) + "\n";
  }
  if (findings.size() > kFindingsShown)
    out += "and " + std::to_string(findings.size() - kFindingsShown) + " more findings\n\n";
  return out;
}

template <typename Items, typename Block>
void add_section(Budget& budget, const std::string& title, const Items& items, const char* what,
                 Block block) {
  if (items.empty()) return;
  if (!budget.add(title)) {
    budget.add_last("_" + std::to_string(items.size()) + " " + what +
                    " left out: the report has a size limit._\n\n");
    return;
  }
  std::size_t added = 0;
  for (const auto& item : items) {
    if (!budget.add(block(item))) break;
    ++added;
  }
  budget.add_last(added == items.size()
                      ? "\n"
                      : "\n_" + std::to_string(items.size() - added) + " more " + what +
                            " left out: the report has a size limit._\n\n");
}

}  // namespace

std::string report_markdown(const ReportData& data, std::size_t bytes_max) {
  Budget budget(bytes_max);
  budget.add(head_section(data));
  if (const std::string change = changes_markdown(data); !change.empty()) budget.add(change);
  const std::vector<Group> groups = group_failures(data.results);
  const std::vector<const json*> units = in_reading_order(data.results);
  std::vector<const json*> detailed;
  for (const json* unit : units) {
    if (!list_of(*unit, "findings").empty() && verdict_of(*unit) != "passing" &&
        verdict_of(*unit) != "compatible")
      detailed.push_back(unit);
  }
  add_section(budget, "## Failures that units have in common\n\n", groups, "groups", group_block);
  add_section(
      budget,
      "## Units\n\n| unit | verdict | reason | time | first message |\n|---|---|---|---:|---|\n",
      units, "units", [](const json* unit) { return row(*unit); });
  add_section(budget, "## Findings\n\n", detailed, "units with findings",
              [](const json* unit) { return detail_block(*unit); });
  return budget.take();
}

}  // namespace cupel::cli
