#include "cli/core/progress.hpp"

#include "common/text/units.hpp"
#include "common/text/utf8.hpp"

#include <algorithm>
#include <utility>

namespace cupel::cli {
namespace {

constexpr std::size_t kBarColumns = 24;

std::string padded(std::string text, std::size_t columns) {
  const std::size_t wide = text::width(text);
  if (wide < columns) text.append(columns - wide, ' ');
  return text;
}

}  // namespace

void Progress::start(std::string title, std::size_t repositories) {
  title_ = std::move(title);
  repositories_ = repositories;
}

std::optional<std::string> Progress::take(const json& event) {
  const std::string type = text_of(event, "type");
  const std::string task = text_of(event, "task");
  if (type == "campaign.created") {
    repositories_ =
        std::max(repositories_, static_cast<std::size_t>(number_of(event, "repositories")));
  } else if (type == "repository.acquired") {
    ++repositories_acquired_;
    units_found_ += static_cast<std::size_t>(number_of(event, "units"));
  } else if (type == "task.started") {
    live_tasks_[task] = true;
    note_.clear();
  } else if (type == "task.finished") {
    live_tasks_.erase(task);
  } else if (type == "task.retried") {
    live_tasks_.erase(task);
    ++retried_;
  } else if (type == "campaign.finished") {
    finished_ = true;
  } else if (type == "campaign.reopened") {
    finished_ = false;
  } else if (type == "unit.finished") {
    const std::string verdict = verdict_of(event);
    count(text_of(event, "unit"), verdict);
    const std::string reason = text_of(event, "reason");
    last_ = unit_name(event) + " " + verdict +
            (reason.empty() || reason == "none" ? "" : " (" + reason + ")");
    std::string message = first_line(text_of(event, "message"), 160);
    if (message.empty() && reason != "none") message = reason;
    std::string line = padded(unit_name(event), 40) + "  " + padded(verdict, 12) + "  " +
                       padded(text::format_seconds(number_of(event, "seconds")), 7);
    if (!message.empty()) line += "  " + message;
    while (line.ends_with(' ')) line.pop_back();
    return line;
  }
  return std::nullopt;
}

// A unit of a reopened campaign is judged again.
void Progress::count(const std::string& unit, const std::string& verdict) {
  ++verdicts_[verdict];
  const auto [known, first] = verdict_of_unit_.try_emplace(unit, verdict);
  if (first || unit.empty()) {
    ++units_finished_;
    return;
  }
  if (--verdicts_[known->second] == 0) verdicts_.erase(known->second);
  known->second = verdict;
}

std::size_t Progress::units_expected() const {
  const std::size_t total = std::max(units_found_, units_finished_);
  // While repositories are still being fetched their units aren't known, so they count themselves.
  return std::max<std::size_t>(1, all_known() ? total : std::max(total, repositories_));
}

std::string Progress::state_line(double elapsed_seconds) const {
  return std::to_string(units_finished_) + "/" + std::to_string(units_expected()) +
         (all_known() ? "" : "+") + " units · " + std::to_string(live_tasks_.size()) +
         " tasks running · " + std::to_string(std::min(repositories_acquired_, repositories_)) +
         "/" + std::to_string(repositories_) + " repositories fetched · " +
         text::format_seconds(elapsed_seconds);
}

std::vector<std::string> Progress::block(std::size_t columns, double elapsed_seconds) const {
  std::vector<std::string> lines;
  lines.push_back(title_);
  lines.push_back(bar(units_finished_, units_expected(), kBarColumns) + "  " +
                  state_line(elapsed_seconds));
  std::string counts;
  for (const auto& [verdict, count] : verdicts_)
    counts += (counts.empty() ? "" : " + ") + verdict + " " + std::to_string(count);
  if (!counts.empty()) {
    lines.push_back(
        std::to_string(units_finished_) + " finished = " + counts +
        (retried_ > 0 ? "   (" + std::to_string(retried_) + " attempts repeated)" : ""));
  }
  if (!last_.empty()) lines.push_back("last: " + first_line(last_, columns));
  if (!note_.empty()) lines.push_back(note_);
  for (std::string& line : lines) line = text::shortened(line, columns);
  return lines;
}

std::string bar(std::size_t done, std::size_t total, std::size_t columns) {
  const std::size_t full = total == 0 ? 0 : std::min(columns, done * columns / total);
  std::string out;
  for (std::size_t i = 0; i < columns; ++i) out += i < full ? "█" : "░";
  return out;
}

}  // namespace cupel::cli
