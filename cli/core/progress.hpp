/// The progress of a campaign, from its events. Pure: it is told the time.
#pragma once

#include "cli/core/report_data.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::cli {

class Progress {
 public:
  /// `event`: the data of one event of the API. Returns the line to print where progress is lines:
  /// one for each finished unit.
  std::optional<std::string> take(const json& event);

  /// Lines of the status block, each at most `columns` wide.
  [[nodiscard]] std::vector<std::string> block(std::size_t columns, double elapsed_seconds) const;
  /// "3/24+ units · 2 tasks running · 5/24 repositories fetched · 2m10s".
  [[nodiscard]] std::string state_line(double elapsed_seconds) const;
  [[nodiscard]] bool finished() const { return finished_; }
  /// No task is known to run.
  [[nodiscard]] bool idle() const { return live_tasks_.empty(); }
  /// A line at the end of the block, until something runs; empty: none.
  void note(std::string line) { note_ = std::move(line); }
  [[nodiscard]] std::size_t units_finished() const { return units_finished_; }
  /// From the campaign's summary, before the first event.
  void start(std::string title, std::size_t repositories);

 private:
  [[nodiscard]] bool all_known() const { return repositories_acquired_ >= repositories_; }
  [[nodiscard]] std::size_t units_expected() const;
  void count(const std::string& unit, const std::string& verdict);

  std::string title_;
  std::size_t repositories_ = 0;
  std::size_t repositories_acquired_ = 0;
  std::size_t units_found_ = 0;
  std::size_t units_finished_ = 0;
  std::size_t retried_ = 0;
  std::map<std::string, std::size_t> verdicts_;
  std::map<std::string, std::string> verdict_of_unit_;
  std::map<std::string, bool> live_tasks_;
  std::string last_;
  std::string note_;
  bool finished_ = false;
};

/// "████░░░░" of `columns` characters.
[[nodiscard]] std::string bar(std::size_t done, std::size_t total, std::size_t columns);

}  // namespace cupel::cli
