// The bound of the fair share (coordinator/core/scheduler.hpp), from the records alone: a slot goes
// to the best priority, and there to the owner who holds the fewest.
#include "tests/sim/fake_store.hpp"

#include <algorithm>

namespace cupel::sim {

using namespace coordinator;

// Looks at work that every worker could do at this moment: never begun, so it waits for nothing;
// bound to nobody; of a campaign that may start more and isn't being cancelled.
void FakeStore::check_share(const TaskRow& granted) {
  std::map<std::string, std::uint32_t> slots;  // by owner
  std::map<CampaignId, std::uint32_t> running;
  for (const auto& [id, task] : tasks_) {
    if (task.row.state != TaskState::leased) continue;
    ++running[task.row.campaign];
    ++slots[campaigns_.at(task.row.campaign).owner];
  }
  const CampaignRow& campaign = campaigns_.at(granted.campaign);
  for (const auto& [id, task] : tasks_) {
    const bool anybody = task.row.state == TaskState::queued && !task.row.preferred &&
                         task.row.not_before.us == 0 && task.ended.empty();
    const CampaignRow& other = campaigns_.at(task.row.campaign);
    if (!anybody || other.owner == campaign.owner || other.state == CampaignState::paused) continue;
    if (ending_.contains(other.id)) continue;
    const std::uint32_t max = parallel_[other.document];
    if (max > 0 && running[other.id] >= max) continue;
    check(other.priority <= campaign.priority, "a slot went past work of a higher priority: " +
                                                   id.text() + " before " + granted.id.text());
    check(other.priority != campaign.priority || slots[other.owner] >= slots[campaign.owner],
          "a slot went to an owner who held more than another one with work: " + id.text() +
              " before " + granted.id.text());
  }
}

}  // namespace cupel::sim
