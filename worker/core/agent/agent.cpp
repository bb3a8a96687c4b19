#include "worker/core/agent/agent.hpp"

#include <algorithm>
#include <array>

namespace cupel::worker {
namespace {

constexpr std::array<std::string_view, 5> kCancelWhy = {"lease_lost", "not_renewed", "requested",
                                                        "drain", "stop"};
constexpr std::array<std::string_view, 4> kSessionStates = {"offline", "greeting", "ready",
                                                            "refused"};

}  // namespace

std::string_view name(CancelWhy why) {
  return kCancelWhy.at(static_cast<std::size_t>(why));
}
std::string_view name(SessionState state) {
  return kSessionStates.at(static_cast<std::size_t>(state));
}

Agent::Agent(AgentSettings settings, Capacity capacity, const std::vector<LiveLease>& outbox,
             TimePoint now)
    : settings_(std::move(settings)), capacity_(std::move(capacity)) {
  for (const LiveLease& lease : outbox) {
    outbox_[lease.token].lease = lease;
    remember(lease.token);
  }
  last_ack_ = next_hello_ = next_heartbeat_ = now;
}

AgentActions Agent::step(AgentEvent event, TimePoint now) {
  if (status_.exited) return {};
  std::visit([this, now](auto& known) { on(known, now); }, event);
  if (status_.exited) return std::exchange(out_, {});
  check_leases(now);
  check_drain(now);
  if (status_.exited) return std::exchange(out_, {});
  start_waiting();
  send_results(now, false);
  const bool soon = capacity_dirty_ && now - last_beat_ >= heartbeat_ / 4;
  // A fleet divides its work among those that it knows to take some: this can't wait.
  const bool at_once = takes_work() != told_it_takes_work_;
  if (session_ == SessionState::ready && (soon || at_once || now >= next_heartbeat_)) {
    send_heartbeat(now);
  }
  return std::exchange(out_, {});
}

void Agent::on(CapacityChanged& event, TimePoint /*now*/) {
  capacity_dirty_ = capacity_dirty_ || event.capacity != capacity_;
  capacity_ = std::move(event.capacity);
  if (capacity_.slots > 0) return;
  // The worker must rest: what has not begun is given back instead of waiting here.
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    if (it->second.started) {
      ++it;
      continue;
    }
    give_back({it->second.lease.spec.id, it->first}, "the worker rests: " + capacity_.blocked);
    it = attempts_.erase(it);
  }
}

void Agent::on(OutputProduced& event, TimePoint /*now*/) {
  if (session_ == SessionState::ready) out_.emplace_back(SendMessage{std::move(event.tail)});
}

void Agent::give_back(const LiveLease& lease, std::string why) {
  if (session_ != SessionState::ready) return;
  ResultMessage message;
  message.result.task = lease.task;
  message.result.token = lease.token;
  message.result.ending = Ending::interrupted;
  message.result.reason = Reason::aborted;
  message.result.message = std::move(why);
  out_.emplace_back(SendMessage{std::move(message)});
}

void Agent::on(AttemptFinished& event, TimePoint /*now*/) {
  const auto found = attempts_.find(event.lease.token);
  if (found == attempts_.end()) return;
  const bool wanted = found->second.wanted;
  attempts_.erase(found);
  capacity_dirty_ = true;
  if (!event.stored) {
    if (wanted) give_back(event.lease, "the worker could not store the result");
  } else if (wanted) {
    outbox_[event.lease.token].lease = event.lease;
    capacity_dirty_ = false;  // the result itself frees the slot
  } else {
    ++status_.results_refused;
    out_.emplace_back(DropResult{event.lease, false});
  }
}

void Agent::send_results(TimePoint now, bool all) {
  if (session_ != SessionState::ready) return;
  for (auto& [token, outgoing] : outbox_) {
    const bool again = outgoing.was_sent && now - outgoing.sent >= settings_.result_resend;
    if (outgoing.was_sent && !again && !all) continue;
    if (outgoing.was_sent) ++status_.results_resent;
    outgoing.was_sent = true;
    outgoing.sent = now;
    out_.emplace_back(SendResult{outgoing.lease});
  }
}

void Agent::on(ResultAck& message, TimePoint /*now*/) {
  if (outbox_.erase(message.lease.token) == 0) return;
  ++(message.accepted ? status_.results_accepted : status_.results_refused);
  out_.emplace_back(DropResult{message.lease, message.accepted});
}

void Agent::on(Drain& message, TimePoint now) {
  if (message.on) {
    begin_drain(now, std::chrono::milliseconds(message.deadline_ms), false);
  } else if (!drain_exits_ && draining_) {
    draining_ = false;
    has_drain_deadline_ = false;
    drain_cancelled_ = false;
    capacity_dirty_ = true;
  }
}

void Agent::on(Terminate& /*event*/, TimePoint now) {
  if (++terminations_ == 1) {
    begin_drain(now, settings_.drain_deadline, true);
    return;
  }
  for (auto& [token, attempt] : attempts_) cancel(attempt, CancelWhy::stop);
  exit(error_info(Errc::cancelled).exit_code, "stopped at once by a second signal");
}

void Agent::begin_drain(TimePoint now, Duration deadline, bool exit_after) {
  draining_ = true;
  drain_exits_ = drain_exits_ || exit_after;
  if (deadline > Duration::zero()) {
    const TimePoint by = now + deadline;
    drain_deadline_ = has_drain_deadline_ ? std::min(drain_deadline_, by) : by;
    has_drain_deadline_ = true;
  }
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    if (it->second.started) {
      ++it;
      continue;
    }
    give_back({it->second.lease.spec.id, it->first}, "the worker is draining");
    it = attempts_.erase(it);
  }
  if (session_ == SessionState::ready) send_heartbeat(now);
}

void Agent::check_drain(TimePoint now) {
  if (!draining_) return;
  if (has_drain_deadline_ && now >= drain_deadline_ && !drain_cancelled_) {
    drain_cancelled_ = true;
    for (auto& [token, attempt] : attempts_) cancel(attempt, CancelWhy::drain);
  }
  if (!drain_exits_ || !attempts_.empty()) return;
  if (!saying_goodbye_) {
    saying_goodbye_ = true;
    goodbye_by_ = now + settings_.goodbye_wait;
    send_results(now, false);
  }
  if (!outbox_.empty() && now < goodbye_by_) return;
  if (session_ == SessionState::ready) out_.emplace_back(SendMessage{Goodbye{}});
  exit(0, outbox_.empty() ? "drained" : "drained; unacknowledged results stay in the outbox");
}

void Agent::exit(int code, std::string text) {
  status_.exited = true;
  out_.emplace_back(Exit{code, std::move(text)});
}

AgentStatus Agent::status() const {
  AgentStatus status = status_;
  status.session = session_;
  status.session_id = session_id_;
  status.slots = capacity_.slots;
  status.running = running();
  status.waiting = static_cast<std::uint32_t>(attempts_.size()) - status.running;
  status.outbox = static_cast<std::uint32_t>(outbox_.size());
  status.draining = draining_;
  return status;
}

TimePoint Agent::next_due() const {
  TimePoint due = TimePoint::max();
  const auto consider = [&due](TimePoint at) { due = std::min(due, at); };
  if (session_ == SessionState::ready) {
    consider(next_heartbeat_);
    consider(last_ack_ + kSilentHeartbeatsMax * heartbeat_);
    if (capacity_dirty_) consider(last_beat_ + heartbeat_ / 4);
    for (const auto& [token, outgoing] : outbox_) consider(outgoing.sent + settings_.result_resend);
  } else if (session_ != SessionState::offline) {
    consider(next_hello_);
  }
  for (const auto& [token, attempt] : attempts_) {
    if (!attempt.cancelled) consider(attempt.ends - margin());
  }
  if (has_drain_deadline_ && !drain_cancelled_) consider(drain_deadline_);
  if (saying_goodbye_) consider(goodbye_by_);
  return due;
}

}  // namespace cupel::worker
