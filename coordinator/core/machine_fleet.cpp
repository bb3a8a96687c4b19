// The fleet as the clock and the operator see it: lost workers, drain, quarantine and probes.
#include "common/core/task_life.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>
#include <limits>

namespace cupel::coordinator {

Duration Machine::State::life_of(const Work& work, Handle task) const {
  return std::min(settings.task_max,
                  task_life(work, campaigns.at(tasks[task].campaign).settings) + settings.lease);
}

// A worker that renews for ever keeps neither the task nor its good name.
void Machine::State::end_overrun() {
  for (const TaskId id : leases.overrun(now.mono)) {
    Attempt* attempt = leases.of_task(id);
    if (attempt == nullptr) continue;
    ++counters.leases_overrun;
    ++counters.retries_overrun;
    const Handle worker = attempt->worker;
    const LiveLease lease{id, attempt->token};
    const Task& task = tasks[attempt->task];
    const auto decision = planner::decide_interrupted({task.interruptions, task.charged},
                                                      campaigns.at(task.campaign).budgets);
    send(worker, CancelTask{lease});
    if (fleet[worker].session != 0) fleet[worker].stopping.insert(lease.token);
    put_back(*attempt, decision, Reason::timeout, "its worker held it longer than it may take");
    // Once is enough: an honest worker ends its own attempts long before.
    if (!fleet[worker].away) {
      quarantine(worker, Quarantine::automatic, "it held an attempt longer than that may take");
    }
  }
}

void Machine::State::on(Tick& /*event*/) {
  end_overrun();
  std::set<Handle> lost_at_work;
  for (const TaskId id : leases.expired(now.mono)) {
    Attempt* attempt = leases.of_task(id);
    if (attempt == nullptr) continue;
    ++counters.leases_expired;
    const Worker& worker = fleet[attempt->worker];
    const bool heard = now.mono - worker.heard < settings.lease && worker.session != 0;
    if (heard && attempt->sent && !attempt->confirmed && !attempt->recovered) {
      interrupt(*attempt, Reason::lease_lost, "the lease never reached its worker", false);
    } else {
      if (!attempt->recovered) lost_at_work.insert(attempt->worker);
      interrupt(*attempt, Reason::lease_lost, "its worker was lost");
    }
  }
  // However many attempts it had, it was lost once.
  for (const Handle handle : lost_at_work)
    attempt_ended(handle, std::nullopt, "was lost with work under way");
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    const Worker& worker = fleet[handle];
    if (worker.session != 0 && now.mono - worker.heard >= settings.lease) {
      lose_worker(handle, "silent");
    }
  }
  tend_probes();
  check_holders();
  check_moves();
  tend_tools();
  check_deadlines();
}

void Machine::State::on(TrustChanged& event) {
  fleet.set_trust(std::move(event.keys));
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    const Worker& worker = fleet[handle];
    if (fleet.trusted(worker.key) != nullptr) continue;
    if (worker.session != 0) {
      send(handle, Refuse{Errc::not_trusted, "this worker's key was revoked", 0});
    }
    for (const TaskId id : std::vector<TaskId>(worker.leases.begin(), worker.leases.end())) {
      if (Attempt* attempt = leases.of_task(id)) {
        interrupt(*attempt, Reason::lease_lost, "its worker's key was revoked");
      }
    }
    if (worker.session != 0) lose_worker(handle, "revoked");
  }
  check_holders();
}

void Machine::State::check_holders() {
  for (Handle worker = 0; worker < fleet.end(); ++worker) {
    if (fleet[worker].workspaces == 0 || !fleet.holder_gone(fleet[worker], now.mono)) continue;
    for (Handle handle = 0; handle < repositories.end(); ++handle) {
      if (repositories[handle].holder != worker || !repositories[handle].id) continue;
      acquire_again(handle, "the worker that held it is gone");
    }
  }
}

std::string Machine::State::worker_name(Handle worker) const {
  const TrustedKey* known = fleet.trusted(fleet[worker].key);
  return known == nullptr ? std::string() : known->name;
}

// ---- orders
// ----------------------------------------------------------------------------------

void Machine::State::on(OrderWorkers& event) {
  std::vector<Handle> meant;
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    const TrustedKey* key = fleet.trusted(fleet[handle].key);
    const bool by_labels = !event.labels.empty() && key != nullptr &&
                           std::ranges::all_of(event.labels, [key](const auto& label) {
                             const auto found = key->labels.find(label.first);
                             return found != key->labels.end() && found->second == label.second;
                           });
    if (event.worker ? fleet[handle].id == event.worker : by_labels) meant.push_back(handle);
  }
  if (meant.empty()) {
    return reply(event.request, failure(Errc::not_found,
                                        event.worker ? "no worker " + event.worker.text()
                                                     : std::string("no worker has these labels")));
  }
  std::ranges::sort(meant, {}, [this](Handle handle) { return fleet[handle].id; });
  Reply::Done done;
  for (const Handle handle : meant) {
    done.workers.push_back(fleet[handle].id);
    switch (event.order) {
      case WorkerOrder::drain: order_drain(handle, true, event.deadline_ms); break;
      case WorkerOrder::undrain: order_drain(handle, false, 0); break;
      case WorkerOrder::quarantine:
        quarantine(handle, Quarantine::by_operator,
                   event.why.empty() ? "by the operator" : event.why);
        break;
      case WorkerOrder::release: order_release(handle, event.probe); break;
    }
  }
  after_commit(Reply{event.request, std::move(done)});
}

void Machine::State::write_controls(Handle handle) {
  write(fleet.controls(handle));
}

Drain Machine::State::drain_order(Handle handle) const {
  const Worker& worker = fleet[handle];
  Drain order{.on = worker.drain, .deadline_ms = 0};
  if (!worker.drain || worker.drain_by.us == 0) return order;
  // 0 means none, so what is over has a millisecond left.
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(worker.drain_until - now.mono).count();
  order.deadline_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(left, 1, std::numeric_limits<std::uint32_t>::max()));
  return order;
}

void Machine::State::order_drain(Handle handle, bool on, std::uint32_t deadline_ms) {
  const bool changed = fleet[handle].drain != on;
  fleet.set_drain(handle, on, std::chrono::milliseconds(deadline_ms), now);
  write_controls(handle);
  if (changed) {
    nlohmann::json body = {{"worker", fleet[handle].id.text()}, {"name", worker_name(handle)}};
    if (on && deadline_ms > 0) body["deadline_s"] = deadline_ms / 1000.0;
    event({}, on ? "worker.drained" : "worker.undrained", body);
  }
  promise_send(handle, drain_order(handle));
}

void Machine::State::order_release(Handle handle, bool probe) {
  if (fleet[handle].quarantine == Quarantine::none) return;
  if (!probe) return release(handle, "operator");
  if (fleet[handle].probe) return;  // its answer is awaited already
  fleet.probe_now(handle, now);
  write_controls(handle);
  tend_probes();
}

// ---- quarantine and probes
// ----------------------------------------------------------------------------------

void Machine::State::attempt_ended(Handle handle, std::optional<TaskKind> kind,
                                   const std::string& failure) {
  // One that drains, rests or is in quarantine already gives back what it has.
  if (!failure.empty() && fleet[handle].away) return;
  const auto failing = fleet.attempt_ended(handle, kind, !failure.empty(), now.mono);
  if (!failing) return;
  const std::string what =
      failing->kind ? std::string(name(*failing->kind)) + " attempts" : "attempts";
  quarantine(handle, Quarantine::automatic,
             std::to_string(failing->counts.failed) + " of its last " +
                 std::to_string(failing->counts.all) + " " + what +
                 " failed by its own doing, the last one: it " + failure);
}

void Machine::State::quarantine(Handle handle, Quarantine kind, const std::string& why) {
  const bool by_operator = kind == Quarantine::by_operator;
  const bool repeated = fleet[handle].quarantine == kind;
  fleet.set_quarantine(handle, kind, why, now);
  write_controls(handle);
  if (repeated) return;
  ++(by_operator ? counters.quarantines_operator : counters.quarantines_automatic);
  nlohmann::json body = {{"worker", fleet[handle].id.text()},
                         {"name", worker_name(handle)},
                         {"by", by_operator ? "operator" : "fleet"},
                         {"why", why}};
  if (!by_operator) body["probe_at"] = to_rfc3339(fleet[handle].probe_at);
  event({}, "worker.quarantined", body);
}

void Machine::State::release(Handle handle, const std::string& by) {
  fleet.end_quarantine(handle, now.mono);
  write_controls(handle);
  ++counters.releases;
  event({}, "worker.released",
        {{"worker", fleet[handle].id.text()}, {"name", worker_name(handle)}, {"by", by}});
}

void Machine::State::tend_probes() {
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    Worker& worker = fleet[handle];
    if (worker.probe && worker.probe->sent &&
        (worker.probe->expires <= now.mono || worker.probe->ends <= now.mono)) {
      // It may still run there, and holds its slot until the worker says that it has stopped.
      worker.stopping.insert(worker.probe->token);
      send(handle, CancelTask{{worker.probe->task, worker.probe->token}});
      end_probe(handle, "the probe was not answered in time");
    }
    if (!fleet.may_be_probed(worker, now.mono)) continue;
    worker.probe = Probe{.task = TaskId{next_id()},
                         .token = Token{tokens.take()},
                         .sent = false,
                         .expires = now.mono + settings.lease,
                         .ends = now.mono + settings.probe_limit};
    ++counters.probes_sent;
    after_commit(ProbeReady{handle, worker.probe->token});
  }
}

// A task of no campaign, of no repository: what it shows is that the worker can run a container.
void Machine::State::send_probe(const ProbeReady& ready) {
  Worker& worker = fleet[ready.worker];
  if (!worker.probe || worker.probe->token != ready.token) return;  // its session is over
  worker.probe->sent = true;
  worker.probe->expires = now.mono + settings.lease;
  Lease lease;
  lease.spec.id = worker.probe->task;
  lease.spec.kind = TaskKind::tool;
  lease.spec.work = NoOp{};
  lease.token = worker.probe->token;
  lease.lease_ms = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(settings.lease).count());
  lease.beat = worker.beat;
  send(ready.worker, std::move(lease));
}

bool Machine::State::renew_probe(Worker& worker, const LiveLease& lease) const {
  if (!worker.probe || LiveLease{worker.probe->task, worker.probe->token} != lease) return false;
  worker.probe->expires = now.mono + settings.lease;
  return true;
}

bool Machine::State::take_probe(Handle handle, const TaskResult& result) {
  Worker& worker = fleet[handle];
  const LiveLease lease{result.task, result.token};
  if (!worker.probe || LiveLease{worker.probe->task, worker.probe->token} != lease) return false;
  accepted.add(lease.token, handle, last_batch + 1);
  promise_send(handle, ResultAck{lease, true});
  const bool passed = result.ending == Ending::completed && result.outcome == Outcome::passing;
  const bool taken_back = result.ending == Ending::interrupted && result.reason != Reason::engine;
  if (passed) {
    end_probe(handle, {});
  } else if (taken_back) {
    lose_probe(handle);  // a drain, for one: nothing is shown either way
    worker.probe_due = now.mono + settings.lease;
  } else {
    end_probe(handle, result.message.empty() ? std::string(name(result.reason)) : result.message);
  }
  return true;
}

/// Without words: it passed.
void Machine::State::end_probe(Handle handle, const std::string& failure) {
  fleet[handle].probe.reset();
  const bool passed = failure.empty();
  ++(passed ? counters.probes_passed : counters.probes_failed);
  // Ordered into quarantine meanwhile: then the operator lets it out again.
  const bool decides = fleet[handle].quarantine == Quarantine::automatic;
  if (decides && !passed) fleet.probe_failed(handle, "its probe failed: " + failure, now);
  nlohmann::json body = {{"worker", fleet[handle].id.text()},
                         {"name", worker_name(handle)},
                         {"passed", passed},
                         {"message", failure}};
  if (decides && !passed) body["probe_at"] = to_rfc3339(fleet[handle].probe_at);
  event({}, "worker.probed", body);
  if (!decides) return;
  if (passed) return release(handle, "probe");
  write_controls(handle);
}

void Machine::State::lose_probe(Handle handle) {
  if (!fleet[handle].probe) return;
  fleet[handle].probe.reset();
  ++counters.probes_lost;
}

}  // namespace cupel::coordinator
