/// The table of verdicts and the summary below it, for people.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>

namespace cupel::cli {

struct ViewStyle {
  bool color = false;
  std::size_t columns = 0;  ///< Of the terminal; 0 = don't shorten.
};

/// UNIT, VERDICT, REASON, SECONDS, MESSAGE; one line for each unit.
[[nodiscard]] std::string results_table(const std::vector<json>& results, const ViewStyle& style);
/// The sum over the verdicts and the largest groups of failures.
[[nodiscard]] std::string results_summary(const ReportData& data);
/// The first thing to say about a unit: its message, else its first conclusive finding.
[[nodiscard]] std::string headline(const json& unit, std::size_t columns);
/// The verdict's word in its colour.
[[nodiscard]] std::string colored(const std::string& verdict, bool color);

}  // namespace cupel::cli
