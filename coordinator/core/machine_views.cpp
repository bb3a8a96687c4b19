// What others may ask: the bulk plane, the API, metrics.
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
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
  switch (fleet.obstacle(worker, now)) {
    case Obstacle::not_trusted:
    case Obstacle::not_connected: return WorkerState::lost;
    case Obstacle::draining:
    case Obstacle::leaving: return WorkerState::draining;
    case Obstacle::quarantined: return WorkerState::quarantined;
    case Obstacle::blocked: return WorkerState::blocked;
    default: return worker.leases.empty() ? WorkerState::idle : WorkerState::busy;
  }
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
    view.draining = worker.drain;
    view.drain_by = worker.drain_by;
    view.quarantine = worker.quarantine;
    view.quarantine_why = worker.quarantine_why;
    view.quarantine_since = worker.quarantine_since;
    view.probe_at = worker.probe_at;
    view.probing = worker.probe.has_value();
    const auto recent = worker.recent.counts(state.now.mono, state.settings.quarantine_window);
    view.failures = recent.failed;
    view.attempts = recent.all;
    views.push_back(std::move(view));
  }
  std::ranges::sort(views, {}, &WorkerView::id);
  return views;
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
      gauges.slots_used += worker.leases.size() + worker.stopping.size() + (worker.probe ? 1 : 0);
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
