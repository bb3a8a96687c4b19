#include "coordinator/core/scheduler.hpp"

#include <algorithm>
#include <limits>

namespace cupel::coordinator {
namespace {

// So that tasks too short to measure still count for the fair share.
constexpr std::int64_t kLeastServedUs = 1000;
constexpr std::int32_t kBestRank = std::numeric_limits<std::int32_t>::min();

}  // namespace

Handle Scheduler::add_owner(const std::string& name) {
  const auto [entry, added] = owner_by_name_.try_emplace(name, static_cast<Handle>(owners_.size()));
  if (added) owners_.push_back({.name = name});
  return entry->second;
}

void Scheduler::add_campaign(Handle campaign, Handle owner, std::int32_t priority,
                             std::uint32_t max_parallel) {
  campaigns_[campaign] = {.owner = owner, .priority = priority, .max_parallel = max_parallel};
}

void Scheduler::remove_campaign(Handle campaign) {
  campaigns_.erase(campaign);
}

void Scheduler::set_paused(Handle campaign, bool paused) {
  campaigns_.at(campaign).paused = paused;
}

Scheduler::StreamKey Scheduler::key_of(const Task& task) const {
  return {task.preferred, -campaigns_.at(task.campaign).priority, task.campaign};
}

// An owner without work neither waits nor runs; the time that passes meanwhile is not owed to them.
void Scheduler::activate(Owner& owner) {
  if (owner.running > 0 || owner.waiting > 0) return;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Owner& other : owners_) {
    if (other.running > 0 || other.waiting > 0) least = std::min(least, other.served_us);
  }
  if (least != std::numeric_limits<std::int64_t>::max()) {
    owner.served_us = std::max(owner.served_us, least);
  }
}

void Scheduler::push(Handle handle) {
  const Task& task = tasks_[handle];
  if (task.delayed) {
    delayed_.emplace(task.not_before, handle);
  } else {
    append(handle);
  }
}

void Scheduler::append(Handle handle) {
  Task& task = tasks_[handle];
  Owner& owner = owners_[campaigns_.at(task.campaign).owner];
  activate(owner);
  ++owner.waiting;
  ++waiting_;
  Stream& stream = streams_[key_of(task)];
  if (stream.head == kNoHandle) {
    stream.head = stream.tail = handle;
    task.next = task.previous = kNoHandle;
  } else if (task.retried) {
    task.previous = kNoHandle;
    task.next = stream.head;
    tasks_[stream.head].previous = handle;
    stream.head = handle;
  } else {
    task.next = kNoHandle;
    task.previous = stream.tail;
    tasks_[stream.tail].next = handle;
    stream.tail = handle;
  }
}

void Scheduler::unlink(Handle handle) {
  Task& task = tasks_[handle];
  const auto found = streams_.find(key_of(task));
  Stream& stream = found->second;
  (task.previous == kNoHandle ? stream.head : tasks_[task.previous].next) = task.next;
  (task.next == kNoHandle ? stream.tail : tasks_[task.next].previous) = task.previous;
  if (stream.head == kNoHandle) streams_.erase(found);
  task.next = task.previous = kNoHandle;
  --owners_[campaigns_.at(task.campaign).owner].waiting;
  --waiting_;
}

void Scheduler::remove(Handle handle) {
  Task& task = tasks_[handle];
  if (task.delayed) {
    delayed_.erase({task.not_before, handle});
    task.delayed = false;
  } else {
    unlink(handle);
  }
}

void Scheduler::wake(TimePoint now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const Handle handle = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    tasks_[handle].delayed = false;
    append(handle);
  }
}

std::optional<TimePoint> Scheduler::next_wake() const {
  if (delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

bool Scheduler::at_max_parallel(Handle handle) const {
  const Campaign& campaign = campaigns_.at(handle);
  return campaign.max_parallel > 0 && campaign.running >= campaign.max_parallel;
}

std::uint32_t Scheduler::running_of_owner(Handle campaign) const {
  return owners_[campaigns_.at(campaign).owner].running;
}

Scheduler::Hold Scheduler::hold(Handle campaign) const {
  if (campaigns_.at(campaign).paused) return Hold::paused;
  return at_max_parallel(campaign) ? Hold::max_parallel : Hold::none;
}

bool Scheduler::may_start(Handle campaign, const Allows& allows) const {
  return hold(campaign) == Hold::none && allows(campaign);
}

Scheduler::Ranked Scheduler::rank(const StreamKey& a, const Stream& stream_a, const StreamKey& b,
                                  const Stream& stream_b) const {
  if (a.rank != b.rank) return {a.rank < b.rank, Precedence::priority};
  const Owner& owner_a = owners_[campaigns_.at(a.campaign).owner];
  const Owner& owner_b = owners_[campaigns_.at(b.campaign).owner];
  if (&owner_a != &owner_b) {
    if (owner_a.running != owner_b.running)
      return {owner_a.running < owner_b.running, Precedence::owner_slots};
    if (owner_a.served_us != owner_b.served_us)
      return {owner_a.served_us < owner_b.served_us, Precedence::owner_time};
  }
  const bool bound_a = a.lane != kNoHandle;
  const bool bound_b = b.lane != kNoHandle;
  if (bound_a != bound_b) return {bound_a, Precedence::bound};
  return {tasks_[stream_a.head].id < tasks_[stream_b.head].id, Precedence::age};
}

Scheduler::Streams::const_iterator Scheduler::best_for(Handle worker, const Allows& allows) const {
  auto best = streams_.end();
  for (const Handle lane : {worker, kNoHandle}) {
    for (auto it = streams_.lower_bound({lane, kBestRank, 0});
         it != streams_.end() && it->first.lane == lane; ++it) {
      if (best != streams_.end() && best->first.rank < it->first.rank) break;
      if (best != streams_.end() && !rank(it->first, it->second, best->first, best->second).first)
        continue;
      if (may_start(it->first.campaign, allows)) best = it;
    }
  }
  return best;
}

std::optional<Handle> Scheduler::pick(Handle worker, const Allows& allows) {
  const auto best = best_for(worker, allows);
  if (best == streams_.end()) return std::nullopt;
  const Handle task = best->second.head;
  unlink(task);
  return task;
}

Scheduler::Precedence Scheduler::before(Handle task, Handle worker, const Allows& allows) const {
  const auto best = best_for(worker, allows);
  if (best == streams_.end() || best->second.head == task) return Precedence::none;
  const auto own = streams_.find(key_of(tasks_[task]));
  if (own == streams_.end()) return Precedence::none;
  if (own == best) return Precedence::age;
  return rank(best->first, best->second, own->first, own->second).by;
}

void Scheduler::started(Handle handle) {
  Campaign& campaign = campaigns_.at(handle);
  Owner& owner = owners_[campaign.owner];
  activate(owner);
  ++campaign.running;
  ++owner.running;
  owner.served_us += kLeastServedUs;
}

void Scheduler::ended(Handle handle, Duration served) {
  Campaign& campaign = campaigns_.at(handle);
  Owner& owner = owners_[campaign.owner];
  --campaign.running;
  --owner.running;
  owner.served_us += std::chrono::duration_cast<std::chrono::microseconds>(served).count();
}

bool Scheduler::has_work_for(Handle worker) const {
  for (const Handle lane : {worker, kNoHandle}) {
    const auto it = streams_.lower_bound({lane, kBestRank, 0});
    if (it != streams_.end() && it->first.lane == lane) return true;
  }
  return false;
}

WallTime Scheduler::oldest_ready() const {
  WallTime oldest;
  for (const auto& [key, stream] : streams_) {
    const WallTime ready = tasks_[stream.head].ready;
    if (oldest.us == 0 || ready < oldest) oldest = ready;
  }
  return oldest;
}

}  // namespace cupel::coordinator
