// Sessions and what comes in them.
#include "common/core/limits.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

constexpr std::uint32_t kHelloCost = 10;  // of its peer's rate: each is a write to the store
constexpr std::uint32_t kUntrustedRetryMs = 30'000;
constexpr std::uint32_t kDuplicateRetryMsMin = 200;
constexpr std::size_t kStoppingMax = 1024;  // of one worker; beyond it a list of leases is noise

std::uint32_t milliseconds(Duration duration) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

void Machine::State::on(MalformedReceived& event) {
  ++counters.malformed;
  if (fleet.trusted(event.key) != nullptr && !fleet.within_rate(event.key, now.mono)) {
    ++counters.rate_limited;
  }
}

void Machine::State::on(MessageReceived& event) {
  ++counters.received.at(event.message.index());
  const auto* hello = std::get_if<Hello>(&event.message);
  if (fleet.trusted(event.key) == nullptr) {
    ++counters.untrusted;
    if (hello != nullptr) {
      send_to(event.key, event.routing,
              Refuse{Errc::not_trusted, "this worker's key is not on the trust list",
                     kUntrustedRetryMs});
    }
    return;
  }
  const Handle worker = fleet.session_of(event.key, event.routing);
  // A live lease's result can't flood: there are no more of them than leases.
  const auto* result = std::get_if<ResultMessage>(&event.message);
  const Attempt* answered = worker == kNoHandle || result == nullptr
                                ? nullptr
                                : leases.find({result->result.task, result->result.token});
  const bool owed = answered != nullptr && answered->worker == worker;
  if (!owed && !fleet.within_rate(event.key, now.mono, hello == nullptr ? 1 : kHelloCost)) {
    ++counters.rate_limited;
    return;
  }
  if (hello != nullptr) {
    on_hello(event, *hello);
    return;
  }
  if (worker == kNoHandle) {
    ++counters.without_session;
    send_to(event.key, event.routing, HelloAgain{});
    return;
  }
  fleet.heard(worker, now);
  std::visit(
      [this, worker](auto& message) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(message)>, Hello>) {
          on_message(worker, message);
        }
      },
      event.message);
}

void Machine::State::on_hello(const MessageReceived& from, const Hello& hello) {
  const Fleet::Greeted greeted = fleet.greet(from.key, hello, now.mono);
  const auto refuse = [&](Errc code, std::string text, std::uint32_t retry_after_ms) {
    send_to(from.key, from.routing, Refuse{code, std::move(text), retry_after_ms});
  };
  switch (greeted.greeting) {
    case Fleet::Greeting::stale: return;
    case Fleet::Greeting::not_trusted:
      return refuse(Errc::not_trusted, "this worker's key is not on the trust list",
                    kUntrustedRetryMs);
    case Fleet::Greeting::version:
      ++counters.sessions_version;
      return refuse(Errc::protocol_mismatch,
                    "the coordinator speaks protocol " + std::to_string(kProtocolVersionMin) +
                        " to " + std::to_string(kProtocolVersionMax),
                    0);
    case Fleet::Greeting::lie:
      ++counters.identity_lies;
      return refuse(Errc::refused_by_policy,
                    "worker id " + hello.worker.text() +
                        " does not go with this key: a new data directory needs a new key",
                    0);
    case Fleet::Greeting::replaced:
      ++counters.sessions_duplicate;
      return refuse(Errc::duplicate_identity,
                    "a newer process with this worker's key has taken its place", 0);
    case Fleet::Greeting::duplicate:
      ++counters.sessions_duplicate;
      return refuse(Errc::duplicate_identity, "another process uses this worker's key",
                    std::max(milliseconds(greeted.retry_after), kDuplicateRetryMsMin));
    case Fleet::Greeting::welcome: break;
  }
  const Handle handle = greeted.worker;
  const bool was_here = fleet[handle].session != 0;
  if (was_here && !greeted.same_process) ++counters.sessions_taken_over;
  if (was_here) out.emplace_back(SessionClosed{fleet[handle].session});
  lose_probe(handle);
  const std::uint64_t session = tokens.take();
  fleet.begin_session(handle, session, from.routing, hello, now);
  ++counters.sessions_accepted;

  Welcome welcome = settle_hello(handle, hello, greeted.same_process);
  welcome.session = session;
  const Worker& worker = fleet[handle];
  write(WorkerSeen{worker.id, welcome.worker_name, worker.key, worker.host, worker.version,
                   now.wall});
  if (!was_here) {
    event({}, "worker.joined",
          {{"worker", worker.id.text()}, {"name", welcome.worker_name}, {"host", worker.host}});
  }
  after_commit(SessionReady{handle, session, std::move(welcome)});
}

// What the worker says it has against what is live: each side's surplus is let go.
Welcome Machine::State::settle_hello(Handle handle, const Hello& hello, bool same_process) {
  Worker& worker = fleet[handle];
  Welcome welcome;
  welcome.protocol = std::min(hello.protocol_max, kProtocolVersionMax);
  welcome.fleet = fleet_id;
  welcome.worker_name = worker_name(handle);
  welcome.heartbeat_ms = milliseconds(settings.heartbeat);
  welcome.lease_ms = milliseconds(settings.lease);
  welcome.beat = hello.beat;
  worker.stopping.clear();

  std::set<TaskId> held;
  const auto mine = [&](const LiveLease& lease) {
    Attempt* attempt = leases.find(lease);
    return attempt != nullptr && attempt->worker == handle ? attempt : nullptr;
  };
  for (const LiveLease& lease : hello.running) {
    if (Attempt* attempt = mine(lease)) {
      renew(*attempt);
      held.insert(lease.task);
      welcome.keep.push_back(lease);
    } else {
      welcome.cancel.push_back(lease);
      if (worker.stopping.size() < kStoppingMax) worker.stopping.insert(lease.token);
    }
  }
  for (const LiveLease& lease : hello.unacknowledged) {
    if (Attempt* attempt = mine(lease)) {
      renew(*attempt);
      held.insert(lease.task);
      welcome.resend.push_back(lease);
    } else {
      welcome.forget.push_back(lease);
    }
  }
  bool crashed = false;
  for (const TaskId id : std::vector<TaskId>(worker.leases.begin(), worker.leases.end())) {
    Attempt* attempt = leases.of_task(id);
    if (attempt == nullptr || held.contains(id)) continue;
    // The lease names an older beat than this hello, so the worker won't begin it any more.
    if (same_process && !attempt->confirmed && !attempt->recovered) {
      interrupt(*attempt, Reason::lease_lost, "the lease never reached its worker", false);
    } else {
      crashed = crashed || (!same_process && attempt->confirmed);
      interrupt(*attempt, Reason::lease_lost, "its worker was restarted");
    }
  }
  if (crashed) attempt_ended(handle, std::nullopt, "was restarted with work under way");
  return welcome;
}

void Machine::State::renew(Attempt& attempt) {
  attempt.expires = now.mono + settings.lease;
  attempt.confirmed = true;
  attempt.recovered = false;
  attempt.sent = true;
}

void Machine::State::on_message(Handle handle, Heartbeat& heartbeat) {
  Worker& worker = fleet[handle];
  if (heartbeat.beat <= worker.beat) return;  // a late copy
  worker.beat = heartbeat.beat;
  fleet.set_capacity(handle, heartbeat.capacity, now.mono);

  HeartbeatAck ack;
  ack.beat = heartbeat.beat;
  std::set<Token> stopping;
  for (const LiveLease& lease : heartbeat.renew) {
    if (renew_probe(worker, lease)) {
      ack.renewed.push_back(lease);
      continue;
    }
    Attempt* attempt = leases.find(lease);
    if (attempt != nullptr && attempt->worker == handle) {
      renew(*attempt);
      ++counters.leases_renewed;
      ack.renewed.push_back(lease);
      continue;
    }
    ++counters.fenced_renewals;
    ack.lost.push_back(lease);
    const bool result_on_its_way = accepted.find(lease.token, handle).has_value();
    if (!result_on_its_way && stopping.size() < kStoppingMax) stopping.insert(lease.token);
  }
  worker.stopping = std::move(stopping);
  send(handle, std::move(ack));
  // An order to drain, or its end, may have been lost; a worker that drains by itself ignores this.
  if (worker.capacity.draining != worker.drain) {
    send(handle, drain_order(handle));
  }
}

void Machine::State::on_message(Handle handle, ResultMessage& message) {
  const LiveLease lease{message.result.task, message.result.token};
  fleet[handle].stopping.erase(lease.token);
  if (take_probe(handle, message.result)) return;
  Attempt* attempt = leases.find(lease);
  if (attempt != nullptr && attempt->worker == handle && attempt->sent) {
    take_result(*attempt, std::move(message.result));
    return;
  }
  if (const auto known = accepted.find(lease.token, handle)) {
    ++counters.results_repeated;
    ResultAck ack{lease, true};
    if (*known <= committed) {
      send(handle, ack);
      return;
    }
    // Its batch is still on the way to the disk; the acknowledgement waits with the first one.
    const Worker& worker = fleet[handle];
    const auto batch_of = std::ranges::find(pending, *known, &Batch::id);
    auto& waiting = batch_of == pending.end() ? promises : batch_of->promises;
    waiting.emplace_back(Send{worker.key, worker.routing, ack});
    return;
  }
  ++counters.fenced_results;
  send(handle, ResultAck{lease, false});
}

void Machine::State::on_message(Handle handle, LogTail& tail) {
  const Attempt* attempt = leases.find({tail.task, tail.token});
  if (attempt == nullptr || attempt->worker != handle) {
    ++counters.fenced_logs;
    return;
  }
  const CampaignId campaign = campaigns.at(tasks[attempt->task].campaign).id;
  out.emplace_back(PassLogTail{campaign, std::move(tail)});
}

void Machine::State::on_message(Handle handle, Goodbye& /*goodbye*/) {
  Worker& worker = fleet[handle];
  for (const TaskId id : std::vector<TaskId>(worker.leases.begin(), worker.leases.end())) {
    if (Attempt* attempt = leases.of_task(id)) {
      interrupt(*attempt, Reason::aborted, "its worker was drained");
    }
  }
  fleet.set_leaving(handle, now.mono);
  close_session(handle);
}

void Machine::State::close_session(Handle handle) {
  if (fleet[handle].session == 0) return;
  out.emplace_back(SessionClosed{fleet[handle].session});
  lose_probe(handle);
  fleet.end_session(handle, now.mono);
}

void Machine::State::lose_worker(Handle handle, const std::string& why) {
  ++counters.workers_lost;
  event({}, "worker.lost",
        {{"worker", fleet[handle].id.text()}, {"name", worker_name(handle)}, {"why", why}});
  close_session(handle);
}

}  // namespace cupel::coordinator
