// What others may ask: the bulk plane, the API, metrics.
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

std::string seconds(Duration duration) {
  return std::to_string(std::max<std::int64_t>(
             1, std::chrono::duration_cast<std::chrono::seconds>(duration).count())) +
         " s";
}

}  // namespace

// ---- bulk plane
// ----------------------------------------------------------------------------------

bool Machine::lease_is_live(std::uint64_t session, const std::string& key,
                            const LiveLease& lease) const {
  return may_put(session, key, lease).has_value();
}

Result<void> Machine::may_put(std::uint64_t session, const std::string& key,
                              const LiveLease& lease) const {
  const State& state = *state_;
  const Handle worker = state.fleet.by_key(key);
  if (worker == kNoHandle || session == 0 || state.fleet[worker].session != session ||
      state.fleet.trusted(key) == nullptr) {
    return failure(Errc::not_trusted, "no such session of this worker");
  }
  const Attempt* attempt = state.leases.find(lease);
  if (attempt == nullptr || attempt->worker != worker || !attempt->sent) {
    return failure(Errc::lease_lost, "task " + lease.task.text() + " is not leased here");
  }
  return {};
}

Result<void> Machine::may_get(std::uint64_t session, const std::string& key, const LiveLease& lease,
                              const Digest& artifact) const {
  if (auto allowed = may_put(session, key, lease); !allowed) return allowed;
  const Attempt* attempt = state_->leases.find(lease);
  if (attempt != nullptr && attempt->work) {
    const auto* acquire = std::get_if<AcquireSource>(&*attempt->work);
    const auto* bundle = acquire == nullptr ? nullptr : std::get_if<BundleSource>(&acquire->source);
    if (bundle != nullptr && bundle->artifact == artifact) return {};
    if (const auto* mutate = std::get_if<Mutate>(&*attempt->work)) {
      const auto* replace = std::get_if<Replace>(&mutate->change);
      for (std::size_t i = 0; replace != nullptr && i < replace->modules.size(); ++i) {
        const auto* candidate = std::get_if<BundleSource>(&replace->modules[i].with);
        if (candidate != nullptr && candidate->artifact == artifact) return {};
      }
    }
    const auto* execute = std::get_if<Execute>(&*attempt->work);
    if (execute != nullptr && !execute->scan.scanner.empty() &&
        (execute->scan.scanner == artifact || execute->scan.database == artifact)) {
      return {};
    }
  }
  return failure(Errc::refused_by_policy,
                 "artifact " + artifact.hex() + " is not named by task " + lease.task.text());
}

// ---- workers
// -------------------------------------------------------------------------------------

namespace {

WorkerState state_of(const Fleet& fleet, const Worker& worker, TimePoint now) {
  if (worker.session == 0) return WorkerState::lost;
  if (worker.drain || worker.leaving || worker.capacity.draining) return WorkerState::draining;
  if (!worker.capacity.blocked.empty()) return WorkerState::blocked;
  if (fleet.quarantined(worker, now)) return WorkerState::quarantined;
  return worker.leases.empty() ? WorkerState::idle : WorkerState::busy;
}

}  // namespace

std::vector<WorkerView> Machine::workers() const {
  const State& state = *state_;
  std::vector<WorkerView> views;
  for (Handle handle = 0; handle < state.fleet.end(); ++handle) {
    const Worker& worker = state.fleet[handle];
    const TrustedKey* trusted = state.fleet.trusted(worker.key);
    if (trusted == nullptr) continue;
    WorkerView view;
    view.id = worker.id;
    view.name = trusted->name;
    view.labels = trusted->labels;
    view.state = state_of(state.fleet, worker, state.now.mono);
    view.slots = worker.session == 0 ? 0 : state.fleet.slots(worker);
    view.running = static_cast<std::uint32_t>(worker.leases.size());
    view.engine = worker.engine;
    view.version = worker.version;
    view.host = worker.host;
    view.blocked = worker.capacity.blocked;
    view.last_seen = worker.seen;
    views.push_back(std::move(view));
  }
  std::ranges::sort(views, {}, &WorkerView::id);
  return views;
}

// ---- why
// -----------------------------------------------------------------------------------------

std::optional<std::string> Machine::why(TaskId id) const {
  const State& state = *state_;
  const TimePoint now = state.now.mono;
  for (Handle handle = 0; handle < state.tasks.end(); ++handle) {
    const Task& task = state.tasks[handle];
    if (task.id != id || !task.id) continue;
    const CampaignEntry& campaign = state.campaigns.at(task.campaign);
    if (task.state == TaskState::leased) {
      const auto lease = state.leases.all().find(id);
      if (lease == state.leases.all().end()) return std::nullopt;
      const std::string name = state.worker_name(lease->second.worker);
      return lease->second.recovered
                 ? "waits for worker " + name + " to come back after a restart of the coordinator"
                 : "runs on worker " + name;
    }
    if (campaign.cancelling) return "its campaign is being cancelled";
    if (task.state == TaskState::blocked) {
      const Repository& repository = state.repositories[task.repository];
      if (repository.source_task != kNoHandle)
        return "its repository is being acquired again elsewhere";
      if (state.waits_for_tool(task)) return "the scanner of its toolchain is not built yet";
      return "an earlier task of its unit is not done";
    }
    if (state.scheduler.paused(task.campaign)) return "its campaign is paused";
    if (task.delayed) {
      return "failed before and is tried again in " + seconds(task.not_before - now) +
             " (charged " + std::to_string(task.charged) + ", interruptions " +
             std::to_string(task.interruptions) + ")";
    }
    if (state.scheduler.at_max_parallel(task.campaign)) {
      return "its campaign runs max_parallel tasks already";
    }
    return state.why_queued(task);
  }
  return std::nullopt;
}

std::string Machine::State::why_queued(const Task& task) const {
  const std::string& image = campaigns.at(task.campaign).settings.image;
  const auto obstacle = [&](const Worker& worker) -> std::string {
    if (worker.session == 0) return "is not connected";
    if (worker.drain || worker.leaving || worker.capacity.draining) return "is draining";
    if (!worker.capacity.blocked.empty()) return "rests (" + worker.capacity.blocked + ")";
    if (fleet.quarantined(worker, now.mono)) return "is quarantined after engine failures";
    if (!settings.image_allowed(image, worker.capacity.images)) return "lacks image " + image;
    if (!fleet.may_get_work(worker, now.mono)) return "has been silent for some seconds";
    if (fleet.free_slots(worker) == 0) return "has no free slot";
    return {};
  };
  if (task.preferred != kNoHandle) {
    const Worker& holder = fleet[task.preferred];
    const std::string what = obstacle(holder);
    const std::string name = worker_name(task.preferred);
    if (what.empty()) return "is next on worker " + name;
    std::string text = "bound to worker " + name + ", which holds its workspace and " + what;
    if (holder.away) {
      const Duration left = holder.away_since + settings.holder_grace - now.mono;
      text += "; acquired again elsewhere in " + seconds(left);
    }
    return text;
  }
  std::size_t connected = 0;
  std::size_t able = 0;
  std::string first;
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    if (fleet[handle].session == 0) continue;
    ++connected;
    const std::string what = obstacle(fleet[handle]);
    if (what.empty()) ++able;
    if (first.empty() && !what.empty()) first = "worker " + worker_name(handle) + " " + what;
  }
  if (connected == 0) return "no worker is connected";
  if (able > 0) return "is among the next tasks";
  std::string text =
      connected == 1 ? first
                     : "none of " + std::to_string(connected) + " workers can take it: " + first;
  if (scheduler.outranked(task.campaign)) text += "; campaigns with a higher priority go first";
  text +=
      "; its owner runs " + std::to_string(scheduler.running_of_owner(task.campaign)) + " tasks";
  return text;
}

// ---- gauges
// --------------------------------------------------------------------------------------

Gauges Machine::gauges() const {
  const State& state = *state_;
  Gauges gauges;
  for (Handle handle = 0; handle < state.tasks.end(); ++handle) {
    const Task& task = state.tasks[handle];
    if (!task.id) continue;
    const auto kind = static_cast<std::size_t>(task.kind);
    if (task.state == TaskState::queued) ++gauges.queued.at(kind);
    if (task.state == TaskState::leased) ++gauges.running.at(kind);
    if (task.state == TaskState::blocked) ++gauges.blocked;
  }
  gauges.delayed = state.scheduler.delayed();
  gauges.oldest_ready_us = state.scheduler.oldest_ready().us;
  for (Handle handle = 0; handle < state.fleet.end(); ++handle) {
    const Worker& worker = state.fleet[handle];
    if (state.fleet.trusted(worker.key) == nullptr) continue;
    if (worker.session != 0) {
      gauges.slots += state.fleet.slots(worker);
      gauges.slots_used += worker.leases.size() + worker.stopping.size();
    }
    switch (state_of(state.fleet, worker, state.now.mono)) {
      case WorkerState::idle: ++gauges.workers_idle; break;
      case WorkerState::busy: ++gauges.workers_busy; break;
      case WorkerState::draining: ++gauges.workers_draining; break;
      case WorkerState::blocked: ++gauges.workers_blocked; break;
      case WorkerState::quarantined: ++gauges.workers_quarantined; break;
      case WorkerState::lost: ++gauges.workers_lost; break;
    }
  }
  for (const auto& [handle, campaign] : state.campaigns) {
    ++(campaign.state == CampaignState::paused ? gauges.campaigns_paused
                                               : gauges.campaigns_running);
  }
  gauges.batches_pending = state.pending.size();
  return gauges;
}

}  // namespace cupel::coordinator
