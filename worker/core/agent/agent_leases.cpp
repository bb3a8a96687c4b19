// The agent's leases: taken once, renewed, and left before anyone else may have them.
#include "worker/core/agent/agent.hpp"

#include <algorithm>

namespace cupel::worker {
namespace {

constexpr std::size_t kWaitingMax = 16;  // leases beyond twice the slots: nobody honest sends them

}  // namespace

Duration Agent::margin() const {
  return std::min(settings_.margin, lease_ / 3);
}

void Agent::on(Lease& message, TimePoint now) {
  const LiveLease lease{message.spec.id, message.token};
  const TimePoint ends = sent_at(message.beat) +
                         std::min<Duration>(std::chrono::milliseconds(message.lease_ms), kLeaseMax);
  // Older than the hello: granted in a session that is over, and let go by the coordinator since.
  const bool stale = session_ != SessionState::ready || message.beat < hello_beat_ ||
                     ends - margin() <= now || remembered(lease.token);
  if (stale) {
    ++status_.leases_ignored;
    return;
  }
  remember(lease.token);
  if (draining_ || capacity_.slots == 0) {
    ++status_.leases_ignored;
    give_back(lease, "the worker is draining or rests");
    return;
  }
  if (attempts_.size() >= 2 * std::size_t{capacity_.slots} + kWaitingMax) {
    ++status_.leases_ignored;
    give_back(lease, "the worker has more leases than slots");
    return;
  }
  ++status_.leases;
  Attempt attempt;
  attempt.lease = std::move(message);
  attempt.ends = ends;
  attempts_.emplace(lease.token, std::move(attempt));
}

std::uint32_t Agent::running() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(attempts_, [](const auto& entry) { return entry.second.started; }));
}

// The coordinator may be ahead of the cleanup of an attempt that it cancelled; the slot decides.
void Agent::start_waiting() {
  std::uint32_t busy = running();
  if (busy == attempts_.size()) return;
  for (auto& [token, attempt] : attempts_) {
    if (busy >= capacity_.slots) return;
    if (attempt.started) continue;
    attempt.started = true;
    ++busy;
    Lease lease = attempt.lease;
    attempt.lease.spec.work = NoOp{};  // the runner has it; only the names are needed here
    attempt.lease.spec.settings = {};
    out_.emplace_back(StartAttempt{std::move(lease), attempt.ends});
  }
}

void Agent::on(HeartbeatAck& message, TimePoint now) {
  if (session_ != SessionState::ready || message.beat < hello_beat_) return;
  last_ack_ = now;
  for (const LiveLease& lease : message.renewed) renew(lease, message.beat, now);
  for (const LiveLease& lease : message.lost) abandon(lease, CancelWhy::lease_lost);
}

void Agent::renew(const LiveLease& lease, std::uint64_t beat, TimePoint /*now*/) {
  const auto found = attempts_.find(lease.token);
  if (found == attempts_.end()) return;
  found->second.ends = std::max(found->second.ends, sent_at(beat) + lease_);
}

void Agent::on(CancelTask& message, TimePoint /*now*/) {
  remember(message.lease.token);  // should its lease be behind it
  abandon(message.lease, CancelWhy::requested);
}

void Agent::abandon(const LiveLease& lease, CancelWhy why) {
  const auto found = attempts_.find(lease.token);
  if (found == attempts_.end()) return;
  Attempt& attempt = found->second;
  attempt.wanted = false;
  if (!attempt.started) {
    attempts_.erase(found);
    capacity_dirty_ = true;
    return;
  }
  cancel(attempt, why);
}

void Agent::cancel(Attempt& attempt, CancelWhy why) {
  if (attempt.cancelled || !attempt.started) return;
  attempt.cancelled = true;
  if (why == CancelWhy::lease_lost) ++status_.cancelled_lost;
  if (why == CancelWhy::not_renewed) ++status_.cancelled_not_renewed;
  if (why == CancelWhy::requested) ++status_.cancelled_requested;
  out_.emplace_back(CancelAttempt{{attempt.lease.spec.id, attempt.lease.token}, why});
}

// A worker that is cut off stops its attempts before anyone else may begin them.
void Agent::check_leases(TimePoint now) {
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    if (now < it->second.ends - margin()) {
      ++it;
    } else if (!it->second.started) {
      it = attempts_.erase(it);
    } else {
      cancel(it->second, CancelWhy::not_renewed);
      ++it;
    }
  }
}

void Agent::remember(Token token) {
  if (remembered(token)) return;
  tokens_.push_back(token);
  if (tokens_.size() > settings_.tokens_remembered) tokens_.pop_front();
}

// A repetition comes soon if at all, so the search begins with the newest.
bool Agent::remembered(Token token) const {
  return std::find(tokens_.rbegin(), tokens_.rend(), token) != tokens_.rend();
}

}  // namespace cupel::worker
