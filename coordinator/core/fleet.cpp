#include "coordinator/core/fleet.hpp"

#include "common/core/limits.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

constexpr std::size_t kRetiredRemembered = 16;
constexpr std::uint32_t kQuarantineDoublingsMax = 4;
constexpr double kRateBurstSeconds = 10;

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
    return {.greeting = Greeting::stale};
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
    worker.engine_failures = 0;
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
  heard(handle, now);
  refresh_away(worker, now.mono);
}

void Fleet::end_session(Handle handle, TimePoint now) {
  Worker& worker = workers_[handle];
  worker.session = 0;
  worker.welcomed = false;
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

void Fleet::set_drain(Handle handle, bool drain, TimePoint now) {
  workers_[handle].drain = drain;
  refresh_away(workers_[handle], now);
}

void Fleet::set_leaving(Handle handle, TimePoint now) {
  workers_[handle].leaving = true;
  refresh_away(workers_[handle], now);
}

void Fleet::forgive(Duration stall) {
  for (Worker& worker : workers_) worker.heard += stall;
}

bool Fleet::wanted(const Worker& worker) const {
  return worker.session != 0 && !worker.leaving && !worker.drain && !worker.capacity.draining &&
         worker.capacity.blocked.empty() && trusted(worker.key) != nullptr;
}

void Fleet::refresh_away(Worker& worker, TimePoint now) {
  const bool away = !wanted(worker);
  if (away && !worker.away) worker.away_since = now;
  worker.away = away;
}

bool Fleet::quarantined(const Worker& worker, TimePoint now) const {
  return worker.quarantined_until && now < *worker.quarantined_until;
}

bool Fleet::may_get_work(const Worker& worker, TimePoint now) const {
  // Two and a half heartbeats: one may be lost without the worker being passed over.
  const bool audible = now - worker.heard < settings_.heartbeat * 5 / 2;
  return worker.welcomed && !worker.away && audible && !quarantined(worker, now);
}

std::uint32_t Fleet::slots(const Worker& worker) const {
  const std::uint32_t slots = std::min(worker.capacity.slots, settings_.slots_per_worker_max);
  return worker.probing ? std::min(slots, 1U) : slots;
}

std::uint32_t Fleet::free_slots(const Worker& worker) const {
  const auto used = static_cast<std::uint32_t>(worker.leases.size() + worker.stopping.size());
  const std::uint32_t all = slots(worker);
  return used < all ? all - used : 0;
}

bool Fleet::holder_gone(const Worker& worker, TimePoint now) const {
  if (trusted(worker.key) == nullptr) return true;
  // A worker that failed its probe as well won't be back soon.
  if (quarantined(worker, now) && worker.quarantines > 1) return true;
  return worker.away && now - worker.away_since >= settings_.holder_grace;
}

void Fleet::attempt_failed_by_engine(Handle handle, TimePoint now) {
  Worker& worker = workers_[handle];
  ++worker.engine_failures;
  if (!worker.probing && worker.engine_failures < settings_.quarantine_after) return;
  const std::uint32_t doublings = std::min(worker.quarantines, kQuarantineDoublingsMax);
  worker.quarantined_until = now + settings_.quarantine * (1U << doublings);
  worker.quarantines += 1;
  worker.probing = true;
}

void Fleet::attempt_ended_well(Handle handle) {
  Worker& worker = workers_[handle];
  worker.engine_failures = 0;
  worker.quarantines = 0;
  worker.probing = false;
  worker.quarantined_until.reset();
}

}  // namespace cupel::coordinator
