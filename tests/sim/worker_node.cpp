// A worker's process in the simulation: agent, attempts, outbox, workspaces.
#include "tests/sim/simulation.hpp"

#include <algorithm>

namespace cupel::sim {

using namespace std::chrono_literals;

void Simulation::start_worker(std::size_t index) {
  WorkerNode& node = workers_[index];
  if (node.gone || node.agent != nullptr) return;
  ++node.generation;
  node.terminated = false;
  node.stopped_until = {};
  node.waiting.clear();
  trace("worker " + node.key + " starts");
  worker::AgentSettings settings;
  settings.worker = node.id;
  settings.incarnation = Incarnation{rng_.next()};
  settings.random = rng_.next();
  settings.drain_deadline = rng_.chance(500) ? Duration(8s) : Duration::zero();
  std::vector<LiveLease> outbox;
  for (const auto& [token, result] : node.outbox) outbox.push_back({result.task, token});
  Capacity capacity;
  capacity.images = {kImage};
  capacity.toolchains = {{kImage, "1.26.8", true}};
  capacity.slots = node.slots + (options_.plant == Plant::over_commit ? 1 : 0);
  node.agent = std::make_unique<worker::Agent>(settings, capacity, outbox, clock_of(node));
  link(index, true);
}

// kill -9: what runs dies with it, what is on the disk stays.
void Simulation::crash_worker(std::size_t index, std::optional<Duration> down) {
  WorkerNode& node = workers_[index];
  if (node.agent == nullptr) return;
  trace("worker " + node.key + " crashes");
  ++outcome_.worker_crashes;
  node.agent.reset();
  node.waiting.clear();
  node.running.clear();
  node.linked = false;
  ++node.generation;
  if (!down) {
    node.gone = true;
    return;
  }
  after(*down, 40, [this, index] { start_worker(index); });
}

void Simulation::link(std::size_t index, bool up) {
  WorkerNode& node = workers_[index];
  node.linked = up;
  if (node.agent == nullptr) return;
  if (up) {
    tell_agent(index, worker::Connected{});
  } else {
    tell_agent(index, worker::Disconnected{});
  }
}

void Simulation::tell_agent(std::size_t index, worker::AgentEvent event) {
  WorkerNode& node = workers_[index];
  if (node.agent == nullptr) return;
  if (now_ < node.stopped_until || !node.waiting.empty()) {
    node.waiting.push_back(std::move(event));
    if (node.waiting.size() == 1) wake_worker(index, node.generation);
    return;
  }
  step_agent(index, std::move(event));
}

// What came first is told first, however often the process was stopped meanwhile.
void Simulation::wake_worker(std::size_t index, std::uint64_t generation) {
  WorkerNode& node = workers_[index];
  if (node.generation != generation || node.agent == nullptr) return;
  if (now_ < node.stopped_until) {
    at(node.stopped_until, 41, [this, index, generation] { wake_worker(index, generation); });
    return;
  }
  while (!node.waiting.empty() && node.agent != nullptr) {
    worker::AgentEvent event = std::move(node.waiting.front());
    step_agent(index, std::move(event));
    if (!node.waiting.empty()) node.waiting.pop_front();
  }
}

void Simulation::step_agent(std::size_t index, worker::AgentEvent event) {
  WorkerNode& node = workers_[index];
  for (worker::AgentAction& action : node.agent->step(std::move(event), clock_of(node))) {
    if (dies_here()) {
      crash_worker(index, std::chrono::milliseconds(rng_.between(500, 20'000)));
      return;
    }
    act(index, action);
    if (node.agent == nullptr) return;
  }
  arm(index);
}

TimePoint Simulation::clock_of(const WorkerNode& node) const {
  const Duration passed = now_ - start_;
  return now_ + node.epoch + passed * node.ppm / 1'000'000;
}

// Rounded up: a timer that fires early has nothing to do.
TimePoint Simulation::world_time(const WorkerNode& node, TimePoint its_time) const {
  const Duration ahead = its_time - clock_of(node);
  return now_ + ahead - ahead * node.ppm / 1'000'000 + 1us;
}

// Only the newest timer counts, so next_due() alone drives the agent.
void Simulation::arm(std::size_t index) {
  WorkerNode& node = workers_[index];
  const TimePoint due = node.agent->next_due();
  const std::uint64_t timer = ++node.timer;
  if (due == TimePoint::max()) return;
  at(std::max(world_time(node, due), now_ + 1ms), 42,
     [this, index, timer, generation = node.generation] {
       WorkerNode& armed = workers_[index];
       if (armed.timer != timer || armed.generation != generation) return;
       tell_agent(index, worker::Tick{});
     });
}

void Simulation::act(std::size_t index, worker::AgentAction& action) {
  WorkerNode& node = workers_[index];
  if (auto* send = std::get_if<worker::SendMessage>(&action)) {
    to_coordinator(index, std::move(send->message));
  } else if (const auto* result = std::get_if<worker::SendResult>(&action)) {
    const auto stored = node.outbox.find(result->lease.token);
    if (stored == node.outbox.end()) {
      breaks("a result is to be sent that is not in the outbox");
    } else {
      to_coordinator(index, ResultMessage{stored->second});
      if (options_.plant == Plant::lost_result) node.outbox.erase(stored);
    }
  } else if (auto* start = std::get_if<worker::StartAttempt>(&action)) {
    start_attempt(index, *start);
  } else if (const auto* cancel = std::get_if<worker::CancelAttempt>(&action)) {
    const auto running = node.running.find(cancel->lease.token);
    if (running == node.running.end() || is_deaf(cancel->lease.token)) return;
    running->second.cancelled = true;
    trace(node.key + " cancels " + cancel->lease.task.text() + " " +
          std::string(name(cancel->why)));
    after(std::chrono::milliseconds(rng_.between(10, 5000)), 43,
          [this, index, token = cancel->lease.token, generation = node.generation] {
            finish_attempt(index, token, generation, true);
          });
  } else if (const auto* drop = std::get_if<worker::DropResult>(&action)) {
    node.outbox.erase(drop->lease.token);
  } else if (const auto* exit = std::get_if<worker::Exit>(&action)) {
    trace(node.key + " exits: " + exit->text);
    node.agent.reset();
    node.running.clear();
    node.linked = false;
    ++node.generation;
    after(std::chrono::milliseconds(rng_.between(1000, 30'000)), 40,
          [this, index] { start_worker(index); });
  }
}

void Simulation::start_attempt(std::size_t index, worker::StartAttempt& start) {
  WorkerNode& node = workers_[index];
  const Token token = start.lease.token;
  trace(node.key + " starts " + start.lease.spec.id.text() + " token " +
        std::to_string(token.value));
  if (start.ends <= clock_of(node)) breaks("an attempt was begun after its lease had ended");
  node.running[token] = {start.lease, now_, false};
  const Duration takes = rng_.chance(50) ? std::chrono::milliseconds(rng_.between(20'000, 60'000))
                                         : std::chrono::milliseconds(rng_.between(5, 8000));
  if (is_endless(token)) return;
  after(takes, 44, [this, index, token, generation = node.generation] {
    finish_attempt(index, token, generation, false);
  });
}

void Simulation::finish_attempt(std::size_t index, Token token, std::uint64_t generation,
                                bool cancelled) {
  WorkerNode& node = workers_[index];
  if (node.generation != generation) return;
  if (now_ < node.stopped_until) {
    at(node.stopped_until, 44, [this, index, token, generation, cancelled] {
      finish_attempt(index, token, generation, cancelled);
    });
    return;
  }
  const auto found = node.running.find(token);
  if (found == node.running.end() || (found->second.cancelled && !cancelled)) return;
  TaskResult result;
  if (cancelled) {
    result.task = found->second.lease.spec.id;
    result.token = token;
    result.ending = Ending::interrupted;
    result.reason = Reason::aborted;
  } else {
    result = work(node, found->second.lease);
  }
  if (result.outcome == cupel::Outcome::inconclusive) store_.may_charge(token);
  node.running.erase(found);
  store_result(index, generation, std::move(result));
}

// The file thread: the result is on the disk some time before the agent hears of it.
void Simulation::store_result(std::size_t index, std::uint64_t generation, TaskResult result) {
  const auto file_time = [this] {
    return noise(kNoiseSlowFiles, 20) ? Duration(std::chrono::milliseconds(rng_.between(50, 8000)))
                                      : Duration(std::chrono::microseconds(rng_.between(50, 4000)));
  };
  after(file_time(), 45, [this, index, generation, file_time, result = std::move(result)] {
    WorkerNode& node = workers_[index];
    if (node.generation != generation) return;
    const LiveLease lease{result.task, result.token};
    const bool stored = !noise(kNoiseWork, 5);
    if (stored) node.outbox[result.token] = result;
    after(file_time(), 46, [this, index, generation, lease, stored] {
      if (workers_[index].generation != generation) return;
      tell_agent(index, worker::AttemptFinished{lease, stored});
    });
  });
}

}  // namespace cupel::sim
