#include "worker/core/agent/agent.hpp"

#include "common/core/backoff.hpp"
#include "common/core/limits.hpp"

#include <algorithm>
#include <array>

namespace cupel::worker {
namespace {

constexpr std::array<std::string_view, 5> kCancelWhy = {"lease_lost", "not_renewed", "requested",
                                                        "drain", "stop"};
constexpr std::array<std::string_view, 4> kSessionStates = {"offline", "greeting", "ready",
                                                            "refused"};
constexpr int kSilentHeartbeats = 4;  // without an answer: say hello again
constexpr std::size_t kBeatsMax = 4096;
// What a coordinator may ask for, whatever it says.
constexpr Duration kHeartbeatMin = std::chrono::milliseconds(50);
constexpr Duration kHeartbeatMax = std::chrono::seconds(60);
constexpr Duration kLeaseMin = std::chrono::milliseconds(300);
constexpr Duration kLeaseMax = std::chrono::hours(1);
constexpr Duration kRetryAfterMax = std::chrono::minutes(10);
constexpr std::size_t kWaitingMax = 16;  // leases beyond twice the slots: nobody honest sends them

ResultMessage hand_back(const LiveLease& lease, std::string why) {
  ResultMessage message;
  message.result.task = lease.task;
  message.result.token = lease.token;
  message.result.ending = Ending::interrupted;
  message.result.reason = Reason::aborted;
  message.result.message = std::move(why);
  return message;
}

}  // namespace

std::string_view name(CancelWhy why) {
  return kCancelWhy.at(static_cast<std::size_t>(why));
}
std::string_view name(SessionState state) {
  return kSessionStates.at(static_cast<std::size_t>(state));
}

Agent::Agent(AgentSettings settings, Capacity capacity, std::vector<LiveLease> outbox,
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
  if (session_ == SessionState::ready && (soon || now >= next_heartbeat_)) send_heartbeat(now);
  return std::exchange(out_, {});
}

// ---- transport and clock
// -------------------------------------------------------------------------

void Agent::on(Connected& /*event*/, TimePoint now) {
  leave_session(now);
  session_ = SessionState::greeting;
  hello_attempt_ = 0;
  say_hello(now);
}

void Agent::on(Disconnected& /*event*/, TimePoint now) {
  leave_session(now);
  session_ = SessionState::offline;
}

void Agent::on(AuthFailed& event, TimePoint now) {
  leave_session(now);
  session_ = SessionState::offline;
  ++status_.auth_failures;
  status_.refused_text = event.text;
}

void Agent::on(Tick& /*event*/, TimePoint now) {
  const bool silent = now - last_ack_ > kSilentHeartbeats * heartbeat_;
  if (session_ == SessionState::ready && silent) {
    leave_session(now);
    session_ = SessionState::greeting;
    hello_attempt_ = 0;
    say_hello(now);
  } else if ((session_ == SessionState::greeting || session_ == SessionState::refused) &&
             now >= next_hello_) {
    session_ = SessionState::greeting;
    say_hello(now);
  }
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
    const LiveLease lease{it->second.lease.spec.id, it->first};
    if (session_ == SessionState::ready) {
      out_.emplace_back(SendMessage{hand_back(lease, "the worker rests: " + capacity_.blocked)});
    }
    it = attempts_.erase(it);
  }
}

void Agent::on(OutputProduced& event, TimePoint /*now*/) {
  if (session_ == SessionState::ready) out_.emplace_back(SendMessage{std::move(event.tail)});
}

void Agent::leave_session(TimePoint /*now*/) {
  if (session_id_ == 0) return;
  session_id_ = 0;
  out_.emplace_back(SessionChanged{});
}

std::uint64_t Agent::next_beat(TimePoint now) {
  beats_.push_back({++beat_, now});
  // An older beat can't carry a lease any further.
  while (beats_.size() > kBeatsMax || beats_.front().sent + lease_ < now) beats_.pop_front();
  last_beat_ = now;
  return beat_;
}

TimePoint Agent::sent_at(std::uint64_t beat) const {
  if (beats_.empty() || beat < beats_.front().number || beat > beats_.back().number) return {};
  return beats_[beat - beats_.front().number].sent;
}

// ---- session
// -------------------------------------------------------------------------------------

void Agent::say_hello(TimePoint now) {
  Hello hello;
  hello.protocol_min = kProtocolVersionMin;
  hello.protocol_max = kProtocolVersionMax;
  hello.worker = settings_.worker;
  hello.incarnation = settings_.incarnation;
  hello.version = settings_.version;
  hello.host = settings_.host;
  hello.engine = settings_.engine;
  hello.capacity = advertised();
  for (const auto& [token, attempt] : attempts_) {
    hello.running.push_back({attempt.lease.spec.id, token});
  }
  for (const auto& [token, outgoing] : outbox_) hello.unacknowledged.push_back(outgoing.lease);
  hello.beat = hello_beat_ = next_beat(now);
  ++status_.hellos;
  const std::uint64_t spread = settings_.random + status_.hellos * 0x9e3779b97f4a7c15ULL;
  next_hello_ = now + settings_.hello_retry_first / 2 +
                backoff_delay(hello_attempt_, settings_.hello_retry_first,
                              settings_.hello_retry_max, spread >> 16);
  ++hello_attempt_;
  out_.emplace_back(SendMessage{std::move(hello)});
}

void Agent::on(FromCoordinator& event, TimePoint now) {
  status_.last_contact = now;
  std::visit([this, now](auto& message) { on(message, now); }, event.message);
}

void Agent::on(Welcome& message, TimePoint now) {
  // Only the answer to the newest hello: what an older one settled may be out of date.
  if (session_ != SessionState::greeting || message.beat != hello_beat_) return;
  if (message.protocol < kProtocolVersionMin || message.protocol > kProtocolVersionMax) {
    exit(error_info(Errc::protocol_mismatch).exit_code,
         "the coordinator speaks protocol " + std::to_string(message.protocol));
    return;
  }
  if (message.session == 0) return;  // no number that a session can have
  session_ = SessionState::ready;
  session_id_ = message.session;
  heartbeat_ = std::clamp<Duration>(std::chrono::milliseconds(message.heartbeat_ms), kHeartbeatMin,
                                    kHeartbeatMax);
  lease_ = std::clamp<Duration>(std::chrono::milliseconds(message.lease_ms), kLeaseMin, kLeaseMax);
  hello_attempt_ = 0;
  last_ack_ = now;
  next_heartbeat_ = now;
  status_.refused_text.clear();
  out_.emplace_back(SessionChanged{session_id_, message.fleet, message.worker_name});
  for (const LiveLease& lease : message.keep) renew(lease, message.beat, now);
  for (const LiveLease& lease : message.cancel) abandon(lease, CancelWhy::lease_lost);
  for (const LiveLease& lease : message.forget) {
    if (outbox_.erase(lease.token) == 0) continue;
    ++status_.results_refused;
    out_.emplace_back(DropResult{lease, false});
  }
  send_results(now, true);
}

void Agent::on(Refuse& message, TimePoint now) {
  const bool revoked = message.code == Errc::not_trusted && message.retry_after_ms == 0;
  if (session_ != SessionState::greeting && !revoked) return;  // a late copy
  leave_session(now);
  session_ = SessionState::refused;
  status_.refused_text = message.text;
  if (message.retry_after_ms == 0) {
    for (auto& [token, attempt] : attempts_) cancel(attempt, CancelWhy::stop);
    exit(error_info(message.code).exit_code, message.text);
    return;
  }
  next_hello_ =
      now + std::min<Duration>(std::chrono::milliseconds(message.retry_after_ms), kRetryAfterMax);
}

void Agent::on(HelloAgain& /*message*/, TimePoint now) {
  if (session_ != SessionState::ready) return;  // a hello is on its way
  leave_session(now);
  session_ = SessionState::greeting;
  hello_attempt_ = 0;
  say_hello(now);
}

void Agent::send_heartbeat(TimePoint now) {
  Heartbeat heartbeat;
  heartbeat.capacity = advertised();
  heartbeat.renew = held();
  heartbeat.beat = next_beat(now);
  next_heartbeat_ = now + heartbeat_;
  capacity_dirty_ = false;
  out_.emplace_back(SendMessage{std::move(heartbeat)});
}

Capacity Agent::advertised() const {
  Capacity capacity = capacity_;
  capacity.draining = draining_;
  return capacity;
}

std::vector<LiveLease> Agent::held() const {
  std::vector<LiveLease> leases;
  leases.reserve(attempts_.size() + outbox_.size());
  for (const auto& [token, attempt] : attempts_) leases.push_back({attempt.lease.spec.id, token});
  for (const auto& [token, outgoing] : outbox_) leases.push_back(outgoing.lease);
  return leases;
}

// ---- leases
// --------------------------------------------------------------------------------------

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
    out_.emplace_back(SendMessage{hand_back(lease, "the worker is draining or rests")});
    return;
  }
  if (attempts_.size() >= 2 * std::size_t{capacity_.slots} + kWaitingMax) {
    ++status_.leases_ignored;
    out_.emplace_back(SendMessage{hand_back(lease, "the worker has more leases than slots")});
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

// ---- results
// -------------------------------------------------------------------------------------

void Agent::on(AttemptFinished& event, TimePoint /*now*/) {
  const auto found = attempts_.find(event.lease.token);
  if (found == attempts_.end()) return;
  const bool wanted = found->second.wanted;
  attempts_.erase(found);
  capacity_dirty_ = true;
  if (!event.stored) {
    if (wanted && session_ == SessionState::ready) {
      out_.emplace_back(
          SendMessage{hand_back(event.lease, "the worker could not store the result")});
    }
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

// ---- drain
// ---------------------------------------------------------------------------------------

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
    if (session_ == SessionState::ready) {
      out_.emplace_back(
          SendMessage{hand_back({it->second.lease.spec.id, it->first}, "the worker is draining")});
    }
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

// ---- views
// ---------------------------------------------------------------------------------------

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
    consider(last_ack_ + kSilentHeartbeats * heartbeat_);
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
