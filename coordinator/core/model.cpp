#include "coordinator/core/model.hpp"

#include <algorithm>
#include <array>

namespace cupel::coordinator {
namespace {

constexpr std::array<std::string_view, 4> kCampaignStates = {"running", "paused", "finished",
                                                             "cancelled"};
constexpr std::array<std::string_view, 6> kTaskStates = {"blocked", "queued", "leased",
                                                         "done",    "dead",   "cancelled"};

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

std::optional<CampaignState> parse_campaign_state(std::string_view text) {
  return find<CampaignState>(kCampaignStates, text);
}
std::optional<TaskState> parse_task_state(std::string_view text) {
  return find<TaskState>(kTaskStates, text);
}

}  // namespace cupel::coordinator
