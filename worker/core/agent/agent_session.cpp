// The agent's session: hello, welcome and refusal, heartbeats and what they prove.
#include "common/core/backoff.hpp"
#include "common/core/limits.hpp"
#include "worker/core/agent/agent.hpp"

#include <algorithm>

namespace cupel::worker {
namespace {

constexpr std::size_t kBeatsMax = 4096;
// What a coordinator may ask for, whatever it says.
constexpr Duration kHeartbeatMin = std::chrono::milliseconds(50);
constexpr Duration kHeartbeatMax = std::chrono::seconds(60);
constexpr Duration kLeaseMin = std::chrono::milliseconds(300);
constexpr Duration kRetryAfterMax = std::chrono::minutes(10);

}  // namespace

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
  const bool silent = now - last_ack_ > kSilentHeartbeatsMax * heartbeat_;
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
  told_it_takes_work_ = takes_work();
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
  told_it_takes_work_ = takes_work();
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

bool Agent::takes_work() const {
  return capacity_.slots > 0 && !draining_;
}

std::vector<LiveLease> Agent::held() const {
  std::vector<LiveLease> leases;
  leases.reserve(attempts_.size() + outbox_.size());
  for (const auto& [token, attempt] : attempts_) leases.push_back({attempt.lease.spec.id, token});
  for (const auto& [token, outgoing] : outbox_) leases.push_back(outgoing.lease);
  return leases;
}

}  // namespace cupel::worker
