#include "cli/core/gate.hpp"

#include "cli/core/exit_codes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cupel::cli {
namespace {

/// Units that failed before and have failures that the change brought. One that only lost some, or
/// fails in other words, is no reason to stop.
std::size_t count_made_worse(const ReportData& data) {
  return static_cast<std::size_t>(std::ranges::count_if(data.results, [](const json& unit) {
    return verdict_of(unit) == "changed_failure" && text_of(unit, "fault") == "change";
  }));
}

/// Verdicts that runs of the unit have shown.
bool is_proven(std::string_view verdict) {
  constexpr std::array<std::string_view, 8> kProven = {
      "passing", "failing",       "compatible", "regressed",
      "fixed",   "broken_before", "flaky",      "changed_failure"};
  return std::ranges::find(kProven, verdict) != kProven.end();
}

}  // namespace

GateAnswer judge_gate(const ReportData& data) {
  std::vector<std::string> fail_on = {"failing", "refused"};
  double ratio_max = 0.05;
  if (data.document.is_object() && data.document.contains("gate")) {
    const json& gate = data.document["gate"];
    if (gate.is_object() && gate.contains("fail_on")) {
      fail_on.clear();
      for (const json& verdict : list_of(gate, "fail_on")) {
        if (verdict.is_string()) fail_on.push_back(verdict.get<std::string>());
      }
    }
    ratio_max = number_of(gate, "max_inconclusive_ratio", ratio_max);
  }
  std::string failed;
  std::size_t open = 0;
  std::size_t inconclusive = 0;
  std::size_t refused = 0;
  std::size_t proven = 0;
  for (const auto& [verdict, count] : count_verdicts(data.results)) {
    if (verdict == "open") open = count;
    if (verdict == "inconclusive") inconclusive = count;
    if (verdict == "refused") refused = count;
    if (is_proven(verdict)) proven += count;
    if (std::ranges::find(fail_on, verdict) == fail_on.end()) continue;
    const std::size_t counted = verdict == "changed_failure" ? count_made_worse(data) : count;
    if (counted == 0) continue;
    failed += (failed.empty() ? "" : ", ") + std::to_string(counted) + " " + verdict;
  }
  if (!failed.empty()) return {kExitGate, "gate failed: " + failed};
  if (text_of(data.campaign, "state") == "cancelled")
    return {kExitFailed, "the campaign was cancelled"};
  if (open > 0) return {kExitFailed, std::to_string(open) + " units have no verdict yet"};
  const double ratio = data.results.empty() ? 0
                                            : static_cast<double>(inconclusive) /
                                                  static_cast<double>(data.results.size());
  if (ratio > ratio_max) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(),
                  "%.1f %% of the units are inconclusive, the gate allows %.1f %%", ratio * 100,
                  ratio_max * 100);
    return {kExitInconclusive, text.data()};
  }
  // A version that doesn't exist or a patch that applies nowhere has been tested nowhere.
  if (proven == 0 && refused > 0 && ratio_max < 1)
    return {kExitInconclusive, "nothing was tested: " + sum_line(data.results)};
  if (proven == 0 && !data.results.empty())
    return {kExitDone, "gate passed: the change means nothing to any unit"};
  return {kExitDone, "gate passed"};
}

}  // namespace cupel::cli
