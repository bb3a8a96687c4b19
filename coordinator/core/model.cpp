#include "coordinator/core/model.hpp"

#include <algorithm>
#include <array>

namespace cupel::coordinator {
namespace {

constexpr std::array<std::string_view, 4> kCampaignStates = {"running", "paused", "finished",
                                                             "cancelled"};
constexpr std::array<std::string_view, 6> kTaskStates = {"blocked", "queued", "leased",
                                                         "done",    "dead",   "cancelled"};

constexpr std::array<std::string_view, 3> kDeadLetterStates = {"open", "replayed", "dropped"};
constexpr std::array<std::string_view, 3> kQuarantines = {"", "operator", "automatic"};

template <typename Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(CampaignState state) {
  return kCampaignStates.at(static_cast<std::size_t>(state));
}
std::string_view name(TaskState state) {
  return kTaskStates.at(static_cast<std::size_t>(state));
}

std::string_view name(DeadLetterState state) {
  return kDeadLetterStates.at(static_cast<std::size_t>(state));
}
std::optional<DeadLetterState> parse_dead_letter_state(std::string_view text) {
  return find<DeadLetterState>(kDeadLetterStates, text);
}
std::string_view name(Quarantine value) {
  return kQuarantines.at(static_cast<std::size_t>(value));
}
std::optional<Quarantine> parse_quarantine(std::string_view text) {
  return find<Quarantine>(kQuarantines, text);
}

std::optional<CampaignState> parse_campaign_state(std::string_view text) {
  return find<CampaignState>(kCampaignStates, text);
}
std::optional<TaskState> parse_task_state(std::string_view text) {
  return find<TaskState>(kTaskStates, text);
}

}  // namespace cupel::coordinator
