// The large faults of a run: planned from the seed before it begins, so that one can be left out
// alone.
#include "tests/sim/simulation.hpp"

#include <iterator>

namespace cupel::sim {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::array<std::string_view, kFaultKinds> kNames = {
    "coordinator_crash", "worker_crash", "worker_dies",       "partition",        "partition_up",
    "partition_down",    "worker_stops", "coordinator_stops", "wall_clock_jumps", "worker_term",
    "workspaces_lost",   "drain",        "quarantine",        "dead_letter",      "campaign_order",
    "disk_full",         "twin"};

// How often each is drawn.
constexpr std::array<FaultKind, 23> kDrawn = {FaultKind::coordinator_crash,
                                              FaultKind::coordinator_crash,
                                              FaultKind::worker_crash,
                                              FaultKind::worker_crash,
                                              FaultKind::worker_crash,
                                              FaultKind::worker_dies,
                                              FaultKind::partition,
                                              FaultKind::partition,
                                              FaultKind::partition_up,
                                              FaultKind::partition_down,
                                              FaultKind::worker_stops,
                                              FaultKind::worker_stops,
                                              FaultKind::coordinator_stops,
                                              FaultKind::wall_clock_jumps,
                                              FaultKind::worker_term,
                                              FaultKind::workspaces_lost,
                                              FaultKind::drain,
                                              FaultKind::quarantine,
                                              FaultKind::dead_letter,
                                              FaultKind::campaign_order,
                                              FaultKind::campaign_order,
                                              FaultKind::disk_full,
                                              FaultKind::twin};

}  // namespace

std::string_view name(FaultKind kind) {
  return kNames.at(static_cast<std::size_t>(kind));
}

// One in two thousand actions; a step has a handful.
bool Simulation::dies_here() {
  return faulty() && (options_.quiet & kNoiseCrashes) == 0 && rng_.next() % 2000 == 0;
}

void Simulation::plan_faults() {
  Rng plan(options_.seed * 0x9e3779b97f4a7c15ULL + 7);
  for (TimePoint when = start_ + milliseconds(plan.between(500, 10'000)); when < faults_end_;
       when += milliseconds(plan.between(500, 20'000))) {
    const auto drawn = static_cast<std::size_t>(plan.between(0, kDrawn.size() - 1));
    faults_.push_back({when, kDrawn.at(drawn), plan.next()});
  }
  outcome_.planned = faults_.size();
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (options_.without.contains(i)) continue;
    at(faults_[i].at, 31, [this, i] { inject(faults_[i]); });
  }
}

void Simulation::inject(const Fault& fault) {
  Rng rng(fault.random);
  const auto last = static_cast<std::int64_t>(workers_.size()) - 1;
  const auto index = static_cast<std::size_t>(rng.between(0, last));
  WorkerNode& node = workers_[index];
  trace("fault " + std::string(name(fault.kind)) + " (" + node.key + ")");
  ++outcome_.injected.at(static_cast<std::size_t>(fault.kind));
  hash_.add(static_cast<std::uint64_t>(fault.kind));
  switch (fault.kind) {
    case FaultKind::coordinator_crash:
      crash_coordinator(milliseconds(rng.between(100, 40'000)));
      break;
    case FaultKind::worker_crash:
      crash_worker(index, milliseconds(rng.between(500, 50'000)));
      break;
    case FaultKind::worker_dies:
      if (index != 0) crash_worker(index, std::nullopt);
      break;
    case FaultKind::partition: cut(index, true, true, rng); break;
    case FaultKind::partition_up: cut(index, true, false, rng); break;
    case FaultKind::partition_down: cut(index, false, true, rng); break;
    case FaultKind::worker_stops:
      node.stopped_until = std::max(
          node.stopped_until, now_ + milliseconds(rng.chance(500) ? rng.between(200, 3000)
                                                                  : rng.between(3000, 90'000)));
      break;
    case FaultKind::coordinator_stops:
      machine_stopped_until_ =
          std::max(machine_stopped_until_, now_ + milliseconds(rng.between(500, 45'000)));
      break;
    case FaultKind::wall_clock_jumps:
      wall_offset_ += std::chrono::seconds(rng.between(-5000, 5000));
      break;
    case FaultKind::worker_term: terminate(index, rng); break;
    case FaultKind::workspaces_lost:
      if (rng.chance(300)) {
        node.workspaces.clear();
        node.changed.clear();
      }
      node.caches.clear();
      node.after_caches.clear();
      break;
    case FaultKind::drain: {
      coordinator::OrderWorkers order;
      order.order =
          rng.chance(500) ? coordinator::WorkerOrder::drain : coordinator::WorkerOrder::undrain;
      order_workers(std::move(order), node, rng);
      break;
    }
    case FaultKind::quarantine: {
      coordinator::OrderWorkers order;
      order.order = rng.chance(500) ? coordinator::WorkerOrder::quarantine
                                    : coordinator::WorkerOrder::release;
      order.probe = rng.chance(800);
      order_workers(std::move(order), node, rng);
      break;
    }
    case FaultKind::dead_letter: {
      const std::size_t count = store_.letters().size();
      if (count == 0) break;
      auto letter = store_.letters().begin();
      std::advance(letter, rng.between(0, static_cast<std::int64_t>(count) - 1));
      handle_letter(letter->first, rng.chance(800));
      break;
    }
    case FaultKind::campaign_order: order_campaign(rng); break;
    case FaultKind::disk_full:
      disk_full_until_ = now_ + milliseconds(rng.between(500, 20'000));
      break;
    case FaultKind::twin: start_twin(index, rng); break;
  }
}

// One worker, or all of its label.
void Simulation::order_workers(coordinator::OrderWorkers order, const WorkerNode& node, Rng& rng) {
  if (rng.chance(800)) {
    order.worker = node.id;
  } else {
    order.labels = labels_of(node);
  }
  if (rng.chance(500)) order.deadline_ms = 5000;
  tell_machine(std::move(order));
}

std::map<std::string, std::string> Simulation::labels_of(const WorkerNode& node) {
  return {{"zone", node.index % 2 == 0 ? "even" : "odd"}};
}

// What people do, from what the store says at this moment.
void Simulation::handle_letter(TaskId task, bool replay) {
  coordinator::ReplayDeadLetter event = store_.replay_of(task);
  if (!replay) {
    tell_machine(coordinator::DropDeadLetter{0, event.letter});
    return;
  }
  for (const auto& submission : submissions_) {
    if (submission.document == event.campaign.document) event.asked = submission.campaign;
  }
  tell_machine(std::move(event));
}

void Simulation::lift_orders(WorkerId worker) {
  coordinator::OrderWorkers order;
  order.worker = worker;
  order.order = coordinator::WorkerOrder::undrain;
  tell_machine(order);
  order.order = coordinator::WorkerOrder::release;
  tell_machine(order);
}

void Simulation::cut(std::size_t index, bool up, bool down, Rng& rng) {
  WorkerNode& node = workers_[index];
  if (node.cut_up || node.cut_down) return;
  node.cut_up = up;
  node.cut_down = down;
  const bool noticed = up && down && rng.chance(500);
  node.holds = !noticed && rng.chance(600);
  if (noticed) link(index, false);
  after(milliseconds(rng.between(500, 90'000)), 30, [this, index, noticed] {
    mend(index);
    if (noticed) link(index, true);
  });
}

void Simulation::terminate(std::size_t index, Rng& rng) {
  WorkerNode& node = workers_[index];
  if (node.agent == nullptr || node.terminated) return;
  node.terminated = true;
  node.terminated_at = now_;
  tell_agent(index, worker::Terminate{});
  if (rng.chance(200)) tell_agent(index, worker::Terminate{});
}

void Simulation::order_campaign(Rng& rng) {
  if (machine_ == nullptr || store_.campaigns().empty()) return;
  const CampaignId id = store_.campaigns().begin()->first;
  if (rng.chance(150)) {
    tell_machine(coordinator::CancelCampaign{0, id});
  } else if (rng.chance(500)) {
    tell_machine(coordinator::PauseCampaign{0, id});
  } else {
    tell_machine(coordinator::ResumeCampaign{0, id});
  }
}

// Someone copied a worker's machine with its data directory, and started the copy.
void Simulation::start_twin(std::size_t index, Rng& rng) {
  if (had_twin_ || workers_[index].gone) return;
  had_twin_ = true;
  WorkerNode twin;
  const WorkerNode& first = workers_[index];
  twin.index = workers_.size();
  twin.key = first.key;
  twin.id = first.id;
  twin.slots = first.slots;
  twin.epoch = std::chrono::seconds(rng.between(0, 1'000'000));
  twin.twin = true;
  twin.outbox = first.outbox;
  twin.workspaces = first.workspaces;
  twin.caches = first.caches;
  twin.changed = first.changed;
  twin.after_caches = first.after_caches;
  workers_.push_back(std::move(twin));
  const std::size_t its_index = workers_.size() - 1;
  start_worker(its_index);
  after(milliseconds(rng.between(1000, 60'000)), 38, [this, its_index] {
    crash_worker(its_index, std::nullopt);
    workers_[its_index].gone = true;
  });
}

// The world is whole again, but for who is stopped and wakes in time: now everything has to come to
// its end.
void Simulation::end_faults() {
  trace("faults end");
  disk_full_until_ = now_;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    WorkerNode& node = workers_[i];
    mend(i);
    if (node.twin) {
      crash_worker(i, std::nullopt);
      node.gone = true;
    } else if (had_twin_) {
      // A process whose place a copy took is never greeted again: people restart it.
      crash_worker(i, 1s);
    } else if (!node.gone && node.agent != nullptr && !node.linked) {
      link(i, true);
    }
  }
  if (machine_ == nullptr) return;  // its restart does the rest
  for (const WorkerNode& node : workers_) {
    lift_orders(node.id);
  }
  for (const auto& [id, row] : store_.campaigns()) {
    tell_machine(coordinator::ResumeCampaign{0, id});
  }
  // In a world that is whole nothing dies, so what is asked again comes to an answer.
  for (const auto& [task, letter] : store_.letters()) {
    if (machine_ != nullptr && task.value % 2 == 0) handle_letter(task, true);
  }
}

}  // namespace cupel::sim
