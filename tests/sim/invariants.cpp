// What must hold after every step, and at the end.
#include "common/core/json.hpp"
#include "coordinator/core/state.hpp"
#include "tests/sim/simulation.hpp"

#include <algorithm>

namespace cupel::sim {

using namespace std::chrono_literals;

void Simulation::check_invariants() {
  if (!store_.broken().empty()) breaks(store_.broken());
  for (WorkerNode& node : workers_) {
    if (!store_.draining(node.id)) {
      node.drained_at = {};
    } else if (node.drained_at == TimePoint{}) {
      node.drained_at = now_;
    }
    const TimePoint drains = std::max(node.drained_at, node.stopped_until);
    if (node.drained_at != TimePoint{} && !node.running.empty() && now_ - drains > 10min) {
      breaks("the operator's drain of " + node.key + " does not end");
    }
    if (node.running.size() > node.slots)
      breaks(node.key + " runs more attempts than it has slots");
    if (node.agent == nullptr && !node.running.empty()) breaks("attempts outlived their worker");
    const TimePoint awake = std::max(node.terminated_at, node.stopped_until);
    if (node.terminated && node.agent != nullptr && now_ - awake > 10min) {
      breaks("the drain of " + node.key + " does not end");
    }
  }
  check_attempts();
}

// A stopped worker's containers go on until it wakes, sees the time, and has killed them.
bool Simulation::excused(const WorkerNode& node) const {
  return node.stopped_until != TimePoint{} && now_ < node.stopped_until + 6s;
}

void Simulation::check_attempts() {
  struct Seen {
    const WorkerNode* node;
    TimePoint started;
  };
  std::map<TaskId, Seen> running;
  for (const WorkerNode& node : workers_) {
    if (excused(node)) continue;
    for (const auto& [token, attempt] : node.running) {
      const TaskId task = attempt.lease.spec.id;
      const auto [other, first] = running.try_emplace(task, Seen{&node, attempt.started});
      if (first) continue;
      // Two processes with one key: the old one has its lease to the end, and then kills.
      const bool copied = had_twin_ && other->second.node->key == node.key;
      const bool by_twin = had_twin_ && (copied || twin_of(node) || twin_of(*other->second.node));
      if (by_twin && now_ - std::max(other->second.started, attempt.started) < 45s) continue;
      breaks("two attempts of " + task.text() + " run at once");
    }
  }
}

bool Simulation::twin_of(const WorkerNode& node) const {
  return std::ranges::any_of(
      workers_, [&node](const WorkerNode& other) { return other.twin && other.key == node.key; });
}

// What the store says is leased to one worker fits into it.
void Simulation::check_leases_of_store() {
  std::map<WorkerId, std::uint32_t> leased;
  for (const auto& [id, task] : store_.tasks()) {
    if (task.row.state == coordinator::TaskState::leased) ++leased[task.row.worker];
  }
  for (const WorkerNode& node : workers_) {
    if (leased[node.id] > node.slots)
      breaks("more is leased to " + node.key + " than it has slots");
  }
}

bool Simulation::settled() const {
  if (now_ < faults_end_ && !options_.calm) return false;
  for (const bool submitted : submitted_) {
    if (!submitted) return false;
  }
  if (store_.campaigns().size() != submissions_.size() || !store_.all_over()) return false;
  if (!to_commit_.empty()) return false;
  for (const WorkerNode& node : workers_) {
    if (!node.running.empty()) return false;
    if (!node.gone && !node.outbox.empty()) return false;
  }
  return true;
}

// What goes wrong around a unit may cost it its verdict, but never gives it another one.
void Simulation::check_verdicts() {
  for (const auto& [id, row] : store_.units()) {
    const auto& campaign = store_.campaigns().at(row.campaign);
    const campaign::Campaign* asked = nullptr;
    for (const auto& submission : submissions_) {
      if (submission.document == campaign.document) asked = &submission.campaign;
    }
    if (asked == nullptr || std::holds_alternative<NoChange>(asked->change)) continue;
    if (!row.verdict || *row.verdict == Verdict::inconclusive ||
        *row.verdict == Verdict::cancelled || *row.verdict == Verdict::refused) {
      continue;
    }
    const auto info = unit_from_json(nlohmann::json::parse(row.info));
    const std::string source = store_.repositories().at(row.repository).source;
    const std::string url = nlohmann::json::parse(source)["url"].get<std::string>();
    const Verdict right = truth_of_change(url, *info);
    // A repeat that was spoiled is replaced by another one, which may flicker the other way.
    const bool flickers = coordinator::hash_of(url + info->dir) % 5 == 0;
    if (flickers && !options_.calm) continue;
    if (*row.verdict != right) {
      breaks("unit " + info->module_path + " is " + std::string(name(*row.verdict)) + ", not " +
             std::string(name(right)));
    }
  }
}

// For people: what is still open, and why by the machine's own word.
void Simulation::trace_open() {
  if (!options_.trace || broken_.empty()) return;
  for (const auto& [id, row] : store_.campaigns()) {
    trace(id.text() + " " + std::string(name(row.state)));
  }
  for (const auto& [id, task] : store_.tasks()) {
    const auto why = machine_ == nullptr ? std::nullopt : machine_->why(id);
    if (!why) continue;
    trace(id.text() + " " + std::string(name(task.row.state)) + ": " + *why);
  }
  for (const WorkerNode& node : workers_) {
    trace(node.key + (node.agent == nullptr ? " down" : " up") + ", outbox " +
          std::to_string(node.outbox.size()) + ", running " + std::to_string(node.running.size()));
  }
}

Outcome Simulation::finish() {
  check_verdicts();
  trace_open();
  outcome_.broken = broken_;
  for (const auto& [id, task] : store_.tasks()) {
    outcome_.results += static_cast<std::uint64_t>(task.results);
    outcome_.interruptions += task.row.interruptions;
    if (task.row.state == coordinator::TaskState::dead) ++outcome_.dead;
    hash_.add(task.row.token.value);
    hash_.add(static_cast<std::uint64_t>(task.row.state));
  }
  if (machine_ != nullptr) {
    outcome_.fenced += machine_->counters().fenced_results;
    outcome_.replaced += machine_->counters().holders_replaced;
    outcome_.moved += machine_->counters().repositories_moved;
    outcome_.reused += machine_->counters().baselines_reused;
  }
  for (const auto& [task, letter] : store_.letters()) {
    if (letter.state == coordinator::DeadLetterState::replayed) ++outcome_.replayed;
  }
  for (const auto& [id, row] : store_.campaigns()) {
    if (row.state == coordinator::CampaignState::finished) outcome_.verdicts += store_.verdicts(id);
  }
  outcome_.hash = hash_.value();
  return outcome_;
}

}  // namespace cupel::sim
