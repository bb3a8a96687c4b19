#include "coordinator/core/fleet.hpp"

#include "common/core/limits.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

constexpr std::size_t kRetiredRemembered = 16;
constexpr std::uint32_t kQuarantineDoublingsMax = 4;
constexpr double kRateBurstSeconds = 10;
constexpr Duration kDrainMax = std::chrono::hours(24 * 30);

}  // namespace

Handle Fleet::restore(const WorkerSeen& seen, TimePoint now) {
  Handle handle = by_id(seen.id);
  if (handle == kNoHandle) {
    handle = static_cast<Handle>(workers_.size());
    workers_.emplace_back();
    by_id_[seen.id] = handle;
  }
  Worker& worker = workers_[handle];
  worker.id = seen.id;
  worker.key = seen.key;
  worker.host = seen.host;
  worker.version = seen.version;
  worker.seen = seen.at;
  worker.away_since = now;
  if (!seen.key.empty()) by_key_[seen.key] = handle;
  return handle;
}

void Fleet::set_trust(std::vector<TrustedKey> keys) {
  trust_.clear();
  for (TrustedKey& key : keys) {
    std::string name = key.key;
    trust_.emplace(std::move(name), std::move(key));
  }
  std::erase_if(rates_, [this](const auto& entry) { return !trust_.contains(entry.first); });
}

const TrustedKey* Fleet::trusted(const std::string& key) const {
  const auto found = trust_.find(key);
  return found == trust_.end() ? nullptr : &found->second;
}

bool Fleet::within_rate(const std::string& key, TimePoint now, std::uint32_t cost) {
  const double burst = settings_.peer_messages_per_s * kRateBurstSeconds;
  const auto [entry, added] = rates_.try_emplace(key, Bucket{burst, now});
  Bucket& bucket = entry->second;
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(burst, bucket.tokens + seconds * settings_.peer_messages_per_s);
  bucket.filled = now;
  if (bucket.tokens < cost) return false;
  bucket.tokens -= cost;
  return true;
}

Handle Fleet::by_id(WorkerId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? kNoHandle : found->second;
}

Handle Fleet::by_key(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? kNoHandle : found->second;
}

Fleet::Greeted Fleet::greet(const std::string& key, const Hello& hello, TimePoint now) {
  if (trusted(key) == nullptr) return {.greeting = Greeting::not_trusted};
  if (hello.protocol_max < kProtocolVersionMin || hello.protocol_min > kProtocolVersionMax) {
    return {.greeting = Greeting::version};
  }
  Handle mine = by_key(key);
  const Handle named = by_id(hello.worker);
  if (!hello.worker || (mine != kNoHandle && mine != named)) return {.greeting = Greeting::lie};
  if (mine == kNoHandle && named != kNoHandle) {
    // A new key for a known id: only when the old key has been taken off the list.
    Worker& worker = workers_[named];
    if (trusted(worker.key) != nullptr) return {.greeting = Greeting::lie};
    by_key_.erase(worker.key);
    worker.key = key;
    by_key_[key] = named;
    mine = named;
  }
  if (mine == kNoHandle) {
    mine = restore(
        {.id = hello.worker, .name = {}, .key = key, .host = {}, .version = {}, .at = {}}, now);
  }
  const Worker& worker = workers_[mine];
  if (std::ranges::find(worker.retired, hello.incarnation) != worker.retired.end()) {
    return {.greeting = Greeting::replaced};
  }
  const bool same = worker.incarnation == hello.incarnation;
  if (same && hello.beat <= worker.beat) return {.greeting = Greeting::stale};
  if (!same && worker.session != 0 && !worker.leaving) {
    const TimePoint free_at = worker.heard + 2 * settings_.heartbeat;
    if (now < free_at) {
      return {.greeting = Greeting::duplicate, .retry_after = free_at - now};
    }
  }
  return {.greeting = Greeting::welcome, .worker = mine, .same_process = same};
}

void Fleet::begin_session(Handle handle, std::uint64_t session, const std::string& routing,
                          const Hello& hello, Now now) {
  Worker& worker = workers_[handle];
  if (worker.incarnation != hello.incarnation) {
    worker.retired.push_back(worker.incarnation);
    if (worker.retired.size() > kRetiredRemembered) worker.retired.pop_front();
    worker.stopping.clear();
  }
  worker.session = session;
  worker.routing = routing;
  worker.incarnation = hello.incarnation;
  worker.beat = hello.beat;
  worker.host = hello.host;
  worker.version = hello.version;
  worker.engine = hello.engine;
  worker.capacity = hello.capacity;
  worker.welcomed = false;
  worker.leaving = false;
  worker.probe.reset();
  heard(handle, now);
  refresh_away(worker, now.mono);
}

void Fleet::end_session(Handle handle, TimePoint now) {
  Worker& worker = workers_[handle];
  worker.session = 0;
  worker.welcomed = false;
  worker.probe.reset();
  worker.stopping.clear();
  refresh_away(worker, now);
}

Handle Fleet::session_of(const std::string& key, const std::string& routing) const {
  const Handle handle = by_key(key);
  if (handle == kNoHandle) return kNoHandle;
  const Worker& worker = workers_[handle];
  return worker.session != 0 && worker.routing == routing ? handle : kNoHandle;
}

void Fleet::heard(Handle handle, Now now) {
  workers_[handle].heard = now.mono;
  workers_[handle].seen = now.wall;
}

void Fleet::set_capacity(Handle handle, const Capacity& capacity, TimePoint now) {
  workers_[handle].capacity = capacity;
  refresh_away(workers_[handle], now);
}

void Fleet::set_drain(Handle handle, bool drain, Duration deadline, Now now) {
  Worker& worker = workers_[handle];
  deadline = std::min(deadline, kDrainMax);
  worker.drain = drain;
  worker.drain_by = {};
  if (drain && deadline > Duration::zero()) {
    worker.drain_until = now.mono + deadline;
    worker.drain_by = {now.wall.us +
                       std::chrono::duration_cast<std::chrono::microseconds>(deadline).count()};
  }
  refresh_away(worker, now.mono);
}

void Fleet::restore(const WorkerControls& controls, Now now) {
  const Handle handle = by_id(controls.id);
  if (handle == kNoHandle) return;
  Worker& worker = workers_[handle];
  // The wall clock may have jumped either way: never longer than the whole pause.
  const auto left = [&](WallTime until, Duration most) {
    const Duration duration = std::chrono::microseconds(until.us - now.wall.us);
    return now.mono + std::clamp<Duration>(duration, Duration::zero(), most);
  };
  worker.drain = controls.draining;
  worker.drain_by = controls.drain_by;
  worker.drain_until = left(controls.drain_by, kDrainMax);
  worker.quarantine = controls.quarantine;
  worker.round = controls.round;
  worker.quarantine_why = controls.why;
  worker.quarantine_since = controls.since;
  worker.probe_at = controls.probe_at;
  // Its round counts the pause that it is in.
  worker.probe_due = left(controls.probe_at,
                          controls.round == 0 ? Duration::zero() : pause_of(controls.round - 1));
  refresh_away(worker, now.mono);
}

WorkerControls Fleet::controls(Handle handle) const {
  const Worker& worker = workers_[handle];
  return {.id = worker.id,
          .draining = worker.drain,
          .drain_by = worker.drain_by,
          .quarantine = worker.quarantine,
          .round = worker.round,
          .why = worker.quarantine_why,
          .since = worker.quarantine_since,
          .probe_at = worker.probe_at};
}

void Fleet::set_leaving(Handle handle, TimePoint now) {
  workers_[handle].leaving = true;
  refresh_away(workers_[handle], now);
}

void Fleet::forgive(Duration stall) {
  for (Worker& worker : workers_) worker.heard += stall;
}

Obstacle Fleet::lasting_obstacle(const Worker& worker) const {
  if (trusted(worker.key) == nullptr) return Obstacle::not_trusted;
  if (worker.session == 0) return Obstacle::not_connected;
  if (worker.drain) return Obstacle::draining;
  if (worker.leaving || worker.capacity.draining) return Obstacle::leaving;
  if (worker.quarantine != Quarantine::none) return Obstacle::quarantined;
  if (!worker.capacity.blocked.empty()) return Obstacle::blocked;
  return Obstacle::none;
}

bool Fleet::audible(const Worker& worker, TimePoint now) const {
  // Two and a half heartbeats: one may be lost without the worker being passed over.
  return now - worker.heard < settings_.heartbeat * 5 / 2;
}

Obstacle Fleet::obstacle(const Worker& worker, TimePoint now) const {
  // `away` is kept so that nothing is looked up for each worker at each decision.
  const Obstacle lasting = worker.away ? lasting_obstacle(worker) : Obstacle::none;
  if (lasting != Obstacle::none) return lasting;
  if (!worker.welcomed) return Obstacle::greeting;
  return audible(worker, now) ? Obstacle::none : Obstacle::silent;
}

bool Fleet::may_be_probed(const Worker& worker, TimePoint now) const {
  return worker.quarantine == Quarantine::automatic && !worker.probe && worker.probe_due <= now &&
         lasting_obstacle(worker) == Obstacle::quarantined && worker.capacity.blocked.empty() &&
         worker.welcomed && audible(worker, now) && free_slots(worker) > 0;
}

void Fleet::refresh_away(Worker& worker, TimePoint now) {
  const bool away = lasting_obstacle(worker) != Obstacle::none;
  if (away && !worker.away) worker.away_since = now;
  worker.away = away;
}

std::uint32_t Fleet::slots(const Worker& worker) const {
  return std::min(worker.capacity.slots, settings_.slots_per_worker_max);
}

std::uint32_t Fleet::free_slots(const Worker& worker) const {
  const auto used = static_cast<std::uint32_t>(worker.leases.size() + worker.stopping.size() +
                                               (worker.probe ? 1 : 0));
  const std::uint32_t all = slots(worker);
  return used < all ? all - used : 0;
}

bool Fleet::holder_gone(const Worker& worker, TimePoint now) const {
  if (trusted(worker.key) == nullptr) return true;
  // A worker that failed its probe as well won't be back soon.
  if (worker.quarantine == Quarantine::automatic && worker.round > 1) return true;
  return worker.away && now - worker.away_since >= settings_.holder_grace;
}

std::optional<Failing> Fleet::attempt_ended(Handle handle, std::optional<TaskKind> kind,
                                            bool failed, TimePoint now) {
  Worker& worker = workers_[handle];
  const Duration window = settings_.quarantine_window;
  FailureWindow* const of_kind =
      kind ? &worker.recent_by_kind.at(static_cast<std::size_t>(*kind)) : nullptr;
  worker.recent.add(failed, now, window);
  if (of_kind != nullptr) of_kind->add(failed, now, window);
  if (!failed || worker.quarantine != Quarantine::none) return std::nullopt;
  const auto too_many = [this](const FailureWindow::Counts& counts) {
    return counts.failed >= settings_.quarantine_failures &&
           std::uint64_t{counts.failed} * 100 >=
               std::uint64_t{settings_.quarantine_percent} * counts.all;
  };
  if (const auto all = worker.recent.counts(now, window); too_many(all))
    return Failing{std::nullopt, all};
  if (of_kind == nullptr) return std::nullopt;
  const auto some = of_kind->counts(now, window);
  return too_many(some) ? std::optional(Failing{kind, some}) : std::nullopt;
}

// How long the pause of a round is; the first one is round 0.
Duration Fleet::pause_of(std::uint32_t round) const {
  return settings_.quarantine * (1U << std::min(round, kQuarantineDoublingsMax));
}

// From now on, as long as its round says.
void Fleet::pause(Worker& worker, Now now) {
  const Duration pause = pause_of(worker.round);
  ++worker.round;
  worker.probe_due = now.mono + pause;
  worker.probe_at = {now.wall.us +
                     std::chrono::duration_cast<std::chrono::microseconds>(pause).count()};
}

void Fleet::set_quarantine(Handle handle, Quarantine kind, std::string why, Now now) {
  Worker& worker = workers_[handle];
  if (worker.quarantine == Quarantine::none) {
    worker.quarantine_since = now.wall;
    // Good for a whole window since the last one: this one has nothing to do with it.
    if (!worker.released || now.mono - *worker.released >= settings_.quarantine_window) {
      worker.round = 0;
    }
  }
  worker.quarantine = kind;
  worker.quarantine_why = std::move(why);
  worker.probe_at = {};
  if (kind == Quarantine::automatic) pause(worker, now);
  refresh_away(worker, now.mono);
}

void Fleet::probe_now(Handle handle, Now now) {
  Worker& worker = workers_[handle];
  if (worker.quarantine == Quarantine::by_operator) {
    worker.quarantine_why =
        "until a probe passes; the operator has released it from: " + worker.quarantine_why;
  }
  worker.quarantine = Quarantine::automatic;
  worker.round = 0;
  worker.probe_due = now.mono;
  worker.probe_at = now.wall;
}

void Fleet::probe_failed(Handle handle, std::string why, Now now) {
  Worker& worker = workers_[handle];
  worker.quarantine_why = std::move(why);
  pause(worker, now);
}

void Fleet::end_quarantine(Handle handle, TimePoint now) {
  Worker& worker = workers_[handle];
  worker.quarantine = Quarantine::none;
  worker.quarantine_why.clear();
  worker.quarantine_since = {};
  worker.probe_at = {};
  worker.released = now;
  worker.recent.clear();
  worker.recent_by_kind = {};
  refresh_away(worker, now);
}

}  // namespace cupel::coordinator
