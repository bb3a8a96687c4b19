// The network of the simulation: loss, copies, delays, and cuts each way.
#include "tests/sim/simulation.hpp"

namespace cupel::sim {

using namespace std::chrono_literals;

bool Simulation::noise(Noise kind, int permille) {
  return faulty() && (options_.quiet & kind) == 0 && rng_.chance(permille);
}

Duration Simulation::delay() {
  if (noise(kNoiseLate, late_permille_)) return std::chrono::milliseconds(rng_.between(100, 6000));
  return std::chrono::microseconds(rng_.between(200, 20'000));
}

int Simulation::copies() {
  if (noise(kNoiseLoss, loss_permille_)) return 0;
  return noise(kNoiseDoubles, double_permille_) ? 2 : 1;
}

std::string Simulation::process_of(const WorkerNode& node) {
  return node.key + "#" + std::to_string(node.index) + ".";
}

std::string Simulation::routing_of(const WorkerNode& node) {
  return process_of(node) + std::to_string(node.generation);
}

void Simulation::to_coordinator(std::size_t index, ToCoordinator message) {
  const std::string routing = routing_of(workers_[index]);
  const int count = is_unheard(message) ? 0 : copies();
  for (int i = 0; i < count; ++i) {
    deliver(index, Way::up, 10 + message.index(), [this, index, routing, message] {
      if (machine_ == nullptr) return;
      tell_machine(
          coordinator::MessageReceived{workers_[index].key, routing, as_it_arrives(message)});
    });
  }
}

void Simulation::to_worker(std::size_t index, const std::string& routing, ToWorker message) {
  const int count = copies();
  for (int i = 0; i < count; ++i) {
    deliver(index, Way::down, 20 + message.index(), [this, index, routing, message] {
      const WorkerNode& node = workers_[index];
      if (node.agent == nullptr || routing_of(node) != routing) return;
      tell_agent(index, worker::FromCoordinator{message});
    });
  }
}

void Simulation::deliver(std::size_t index, Way way, std::uint64_t kind,
                         std::function<void()> arrive) {
  after(delay(), kind, [this, index, way, arrive = std::move(arrive)] {
    WorkerNode& node = workers_[index];
    const bool cut = way == Way::up ? node.cut_up : node.cut_down;
    if (!cut) {
      arrive();
    } else if (node.holds) {
      node.held.push_back(arrive);
    }
  });
}

void Simulation::mend(std::size_t index) {
  WorkerNode& node = workers_[index];
  if (node.cut_up || node.cut_down) {
    trace("mended " + node.key + ", " + std::to_string(node.held.size()) + " held messages");
  }
  node.cut_up = node.cut_down = false;
  Duration late{};
  for (auto& arrive : std::exchange(node.held, {})) {
    after(late += 100us, 29, std::move(arrive));
  }
}

}  // namespace cupel::sim
