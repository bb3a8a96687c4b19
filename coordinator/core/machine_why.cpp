// Why a task doesn't run: asked of the same predicates by which schedule() passes it over.
#include "coordinator/core/state.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cupel::coordinator {
namespace {

constexpr std::array<std::string_view, kWaitCauses> kCauses = {
    "running",       "upstream",     "returning",   "cancelling",   "paused",      "acquiring",
    "tool",          "earlier_task", "back_off",    "max_parallel", "bound",       "no_worker",
    "image_missing", "egress",       "worker_gone", "draining",     "quarantined", "disk",
    "resting",       "silent",       "no_slot",     "priority",     "fair_share",  "begun_first",
    "order",         "next"};
constexpr std::size_t kWorkersNamed = 32;
constexpr std::size_t kSentenceReasons = 3;

std::string seconds(Duration duration) {
  return std::to_string(std::max<std::int64_t>(
             1, std::chrono::duration_cast<std::chrono::seconds>(duration).count())) +
         " s";
}

WallTime wall_after(Now now, Duration duration) {
  return {now.wall.us + std::chrono::duration_cast<std::chrono::microseconds>(duration).count()};
}

}  // namespace

std::string_view name(WaitCause cause) {
  return kCauses.at(static_cast<std::size_t>(cause));
}

std::string sentence(const Explanation& explanation) {
  std::string text;
  for (std::size_t i = 0; i < explanation.reasons.size() && i < kSentenceReasons; ++i) {
    text += (i == 0 ? "" : "; ") + explanation.reasons[i].text;
  }
  if (explanation.reasons.size() > kSentenceReasons) {
    text += "; and " + std::to_string(explanation.reasons.size() - kSentenceReasons) + " more";
  }
  return text;
}

std::string Machine::State::missing_image(const CampaignEntry& campaign,
                                          const Worker& worker) const {
  const auto& images = worker.capacity.images;
  if (!settings.image_allowed(campaign.settings.image, images)) return campaign.settings.image;
  // Both sides run where the workspace is: its worker needs the image of either.
  const auto* go = std::get_if<GoVersionChange>(&campaign.question.change);
  return go == nullptr || settings.image_allowed(go->version, images) ? std::string() : go->version;
}

bool Machine::State::can_run(const CampaignEntry& campaign, const Worker& worker) const {
  return missing_image(campaign, worker).empty() && !lacks_egress(campaign, worker);
}

std::optional<Handle> Machine::State::pick_for(Handle worker) {
  return scheduler.pick(worker, [this, worker](Handle campaign) {
    return can_run(campaigns.at(campaign), fleet[worker]);
  });
}

std::optional<WaitReason> Machine::State::worker_obstacle(const Task& task, Handle handle) const {
  const Worker& worker = fleet[handle];
  const std::string who = "worker " + worker_name(handle) + " ";
  const auto because = [&](WaitCause cause, std::string text, WallTime until = {}) {
    return WaitReason{cause, who + std::move(text), worker_name(handle), until};
  };
  switch (fleet.obstacle(worker, now.mono)) {
    case Obstacle::none: break;
    case Obstacle::not_trusted: return because(WaitCause::worker_gone, "is not trusted any more");
    case Obstacle::not_connected: return because(WaitCause::worker_gone, "is not connected");
    case Obstacle::leaving: return because(WaitCause::draining, "drains by itself");
    case Obstacle::draining: return because(WaitCause::draining, "is drained by the operator", {});
    case Obstacle::quarantined:
      return because(WaitCause::quarantined, "is in quarantine: " + worker.quarantine_why,
                     worker.probe_at);
    case Obstacle::blocked:
      if (worker.capacity.blocked == "disk")
        return because(WaitCause::disk, "is below its disk watermark");
      return because(WaitCause::resting, "rests (" + worker.capacity.blocked + ")");
    case Obstacle::greeting:
    case Obstacle::silent: return because(WaitCause::silent, "has been silent for some seconds");
  }
  const std::string image = missing_image(campaigns.at(task.campaign), worker);
  if (!image.empty()) return because(WaitCause::image_missing, "lacks image " + image);
  if (lacks_egress(campaigns.at(task.campaign), worker)) {
    return because(WaitCause::egress, "doesn't enforce egress, which the campaign demands");
  }
  if (fleet.free_slots(worker) == 0) return because(WaitCause::no_slot, "has no free slot");
  return std::nullopt;
}

WaitReason Machine::State::turn_of(Handle handle, Handle worker) const {
  const auto allows = [this, worker](Handle campaign) {
    return can_run(campaigns.at(campaign), fleet[worker]);
  };
  switch (scheduler.before(handle, worker, allows)) {
    case Scheduler::Precedence::none: break;
    case Scheduler::Precedence::priority:
      return {WaitCause::priority, "campaigns with a higher priority go first", {}, {}};
    case Scheduler::Precedence::owner_slots:
    case Scheduler::Precedence::owner_time:
      return {WaitCause::fair_share,
              "another owner has had less of the fleet; its own runs " +
                  std::to_string(scheduler.running_of_owner(tasks[handle].campaign)) + " tasks",
              {},
              {}};
    case Scheduler::Precedence::bound:
      return {WaitCause::begun_first, "work that was begun there goes first", {}, {}};
    case Scheduler::Precedence::age: return {WaitCause::order, "older tasks go first", {}, {}};
  }
  return {WaitCause::next, "is next on worker " + worker_name(worker), worker_name(worker), {}};
}

/// Of a queued task that nothing but workers and other tasks keeps waiting.
std::vector<WaitReason> Machine::State::why_queued(Handle handle) const {
  const Task& task = tasks[handle];
  std::vector<WaitReason> reasons;
  const auto full = [](const std::optional<WaitReason>& reason) {
    return reason && reason->cause == WaitCause::no_slot;
  };
  if (task.preferred != kNoHandle) {
    const Worker& holder = fleet[task.preferred];
    auto obstacle = worker_obstacle(task, task.preferred);
    if (!obstacle) return {turn_of(handle, task.preferred)};
    WaitReason bound{
        WaitCause::bound,
        "bound to worker " + worker_name(task.preferred) + ", which holds its workspace",
        worker_name(task.preferred),
        {}};
    if (holder.away && task.unit != kNoHandle) {
      const Duration left = holder.away_since + settings.holder_grace - now.mono;
      bound.text += "; fetched again elsewhere in " + seconds(left);
      bound.until = wall_after(now, left);
    }
    const bool waits_its_turn = full(obstacle);
    reasons.push_back(*std::move(obstacle));
    reasons.push_back(std::move(bound));
    if (waits_its_turn) reasons.push_back(turn_of(handle, task.preferred));
    std::erase_if(reasons, [](const WaitReason& r) { return r.cause == WaitCause::next; });
    return reasons;
  }
  Handle busy = kNoHandle;
  bool connected = false;
  for (Handle worker = 0; worker < fleet.end(); ++worker) {
    if (fleet.trusted(fleet[worker].key) == nullptr) continue;
    connected = connected || fleet[worker].session != 0;
    auto obstacle = worker_obstacle(task, worker);
    if (!obstacle) return {turn_of(handle, worker)};
    if (full(obstacle)) busy = worker;
    if (reasons.size() < kWorkersNamed) reasons.push_back(*std::move(obstacle));
  }
  if (!connected) {
    reasons.insert(reasons.begin(), {WaitCause::no_worker, "no worker is connected", {}, {}});
    return reasons;
  }
  // Workers that are there say more than those that aren't; a full one will have room.
  std::ranges::sort(reasons, {}, [](const WaitReason& reason) {
    const int rank = reason.cause == WaitCause::no_slot       ? 0
                     : reason.cause == WaitCause::worker_gone ? 2
                                                              : 1;
    return std::pair(rank, reason.worker);
  });
  if (busy == kNoHandle) return reasons;
  if (WaitReason turn = turn_of(handle, busy); turn.cause != WaitCause::next) {
    reasons.push_back(std::move(turn));
  }
  return reasons;
}

std::vector<WaitReason> Machine::State::reasons_of(Handle handle) const {
  const Task& task = tasks[handle];
  const auto because = [](WaitCause cause, std::string text, WallTime until = {}) {
    return std::vector<WaitReason>{{cause, std::move(text), {}, until}};
  };
  if (task.state == TaskState::leased) {
    const auto lease = leases.all().find(task.id);
    if (lease == leases.all().end()) return {};
    const std::string worker = worker_name(lease->second.worker);
    const bool fetches = task.kind == TaskKind::acquire || task.kind == TaskKind::mutate;
    if (fetches && fleet[lease->second.worker].capacity.upstream_paused) {
      return {{WaitCause::upstream,
               "waits on worker " + worker + " for module proxies that fail",
               worker,
               {}}};
    }
    if (!lease->second.recovered)
      return {{WaitCause::running, "runs on worker " + worker, worker, {}}};
    return {{WaitCause::returning,
             "waits for worker " + worker + " to come back after a restart of the coordinator",
             worker,
             {}}};
  }
  if (campaigns.at(task.campaign).cancelling)
    return because(WaitCause::cancelling, "its campaign is being cancelled");
  if (task.state == TaskState::blocked) {
    if (repositories[task.repository].source_task != kNoHandle)
      return because(WaitCause::acquiring, "its repository is being acquired again elsewhere");
    if (waits_for_tool(task))
      return because(WaitCause::tool, "the scanner of its toolchain is not built yet");
    return because(WaitCause::earlier_task, "an earlier task of its unit is not done");
  }
  const Scheduler::Hold hold = scheduler.hold(task.campaign);
  if (hold == Scheduler::Hold::paused) return because(WaitCause::paused, "its campaign is paused");
  if (task.delayed) {
    return because(WaitCause::back_off,
                   "failed before and is tried again in " + seconds(task.not_before - now.mono) +
                       " (charged " + std::to_string(task.charged) + ", interruptions " +
                       std::to_string(task.interruptions) + ")",
                   wall_after(now, task.not_before - now.mono));
  }
  if (hold == Scheduler::Hold::max_parallel)
    return because(WaitCause::max_parallel, "its campaign runs max_parallel tasks already");
  return why_queued(handle);
}

std::optional<Explanation> Machine::State::explain(Handle handle) const {
  const Task& task = tasks[handle];
  Explanation explanation;
  explanation.task = task.id;
  if (task.unit != kNoHandle) explanation.unit = units[task.unit].id;
  explanation.campaign = campaigns.at(task.campaign).id;
  explanation.state = task.state;
  explanation.reasons = reasons_of(handle);
  if (explanation.reasons.empty()) return std::nullopt;
  return explanation;
}

std::optional<Explanation> Machine::explain(TaskId id) const {
  const State& state = *state_;
  for (Handle handle = 0; id && handle < state.tasks.end(); ++handle) {
    if (state.tasks[handle].id == id) return state.explain(handle);
  }
  return std::nullopt;
}

std::optional<Explanation> Machine::explain(UnitId id) const {
  const State& state = *state_;
  for (Handle handle = 0; id && handle < state.units.end(); ++handle) {
    if (state.units[handle].id != id) continue;
    const Handle task = state.units[handle].task;
    return task == kNoHandle ? std::nullopt : state.explain(task);
  }
  return std::nullopt;
}

std::optional<CampaignExplanation> Machine::explain(CampaignId id) const {
  const State& state = *state_;
  const auto found = std::ranges::find_if(
      state.campaigns, [id](const auto& entry) { return entry.second.id == id; });
  if (!id || found == state.campaigns.end()) return std::nullopt;
  CampaignExplanation answer;
  answer.campaign = id;
  std::map<std::pair<WaitCause, std::string>, WaitGroup> groups;
  for (Handle handle = 0; handle < state.tasks.end(); ++handle) {
    const Task& task = state.tasks[handle];
    if (!task.id || task.campaign != found->first) continue;
    const auto lease = state.leases.all().find(task.id);
    if (lease != state.leases.all().end() && !lease->second.recovered) {
      ++answer.running;
      continue;
    }
    ++answer.waiting;
    if (answer.examined == kExaminedMax) continue;
    std::vector<WaitReason> reasons = state.reasons_of(handle);
    if (reasons.empty()) continue;
    ++answer.examined;
    WaitGroup& group = groups[{reasons.front().cause, reasons.front().worker}];
    if (group.tasks++ > 0) continue;
    group.reason = std::move(reasons.front());
    group.example = task.id;
  }
  for (auto& [key, group] : groups) answer.groups.push_back(std::move(group));
  std::ranges::sort(answer.groups, [](const WaitGroup& a, const WaitGroup& b) {
    return std::pair(b.tasks, a.example) < std::pair(a.tasks, b.example);
  });
  return answer;
}

std::optional<std::string> Machine::why(TaskId task) const {
  const auto explanation = explain(task);
  return explanation ? std::optional(sentence(*explanation)) : std::nullopt;
}

}  // namespace cupel::coordinator
