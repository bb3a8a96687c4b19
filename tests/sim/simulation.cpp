#include "tests/sim/simulation.hpp"

#include "common/core/json.hpp"
#include "coordinator/core/state.hpp"

#include <cstdio>

namespace cupel::sim {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{std::chrono::hours(1000)};
constexpr std::int64_t kWallStartUs = 1'800'000'000'000'000;

}  // namespace

// ---- what is true of a repository
// ------------------------------------------------------------------

Truth Truth::of(const std::string& name) {
  const std::uint64_t hash = coordinator::hash_of(name);
  Truth truth;
  if (hash % 11 == 0) truth.source = Source::refused;
  if (hash % 11 == 1) truth.source = Source::inconclusive;
  const std::uint64_t count = 1 + (hash >> 8) % 3;
  for (std::uint64_t i = 0; i < count; ++i) {
    UnitInfo unit;
    unit.dir = i == 0 ? "." : "sub" + std::to_string(i);
    unit.module_path = name + "/" + std::to_string(i);
    unit.vendored = (hash >> (16 + i)) % 4 == 0;
    if ((hash >> (24 + i)) % 9 == 0) {
      unit.outcome = cupel::Outcome::refused;
      unit.reason = Reason::bad_go_mod;
    }
    truth.units.push_back(std::move(unit));
  }
  return truth;
}

cupel::Outcome truth_of_unit(const std::string& repository, const UnitInfo& unit) {
  return coordinator::hash_of(repository + unit.dir) % 3 == 0 ? cupel::Outcome::failing
                                                              : cupel::Outcome::passing;
}

cupel::Outcome truth_of_run(const std::string& repository, const UnitInfo& unit, Side side,
                            std::uint16_t repeat) {
  const std::uint64_t hash = coordinator::hash_of(repository + unit.dir);
  const bool flickers = hash % 5 == 0;
  const bool before = hash % 3 == 0;
  const bool after = (hash >> 8U) % 3 == 0;
  bool fails = side == Side::before ? before : after;
  if (flickers) {
    const std::string run =
        repository + unit.dir + std::string(name(side)) + std::to_string(repeat);
    fails = coordinator::hash_of(run) % 2 == 0;
  }
  return fails ? cupel::Outcome::failing : cupel::Outcome::passing;
}

Verdict truth_of_change(const std::string& repository, const UnitInfo& unit) {
  constexpr std::uint16_t kRepeats = 2;  // as the campaigns here say
  int failed_before = 0;
  int failed_after = 0;
  const auto fails = [&](Side side, std::uint16_t repeat) {
    return truth_of_run(repository, unit, side, repeat) == cupel::Outcome::failing;
  };
  for (std::uint16_t i = 0; i <= kRepeats; ++i) {
    if (fails(Side::before, i)) ++failed_before;
    if (fails(Side::after, i)) ++failed_after;
  }
  const bool first_before = fails(Side::before, 0);
  const bool first_after = fails(Side::after, 0);
  if (!first_before && !first_after) return Verdict::compatible;
  if (first_before && first_after) return Verdict::broken_before;
  if (first_after) {
    return failed_after == kRepeats + 1 && failed_before == 0 ? Verdict::regressed : Verdict::flaky;
  }
  return failed_before == kRepeats + 1 && failed_after == 0 ? Verdict::fixed : Verdict::flaky;
}

// ---- clock
// -----------------------------------------------------------------------------------------

Simulation::Simulation(const Options& options)
    : options_(options),
      rng_(options.seed * 0x2545f4914f6cdd1dULL + 1),
      now_(kStart),
      faults_end_(kStart + options.faults),
      store_(FleetId{7}) {}

void Simulation::at(TimePoint when, std::uint64_t kind, std::function<void()> act) {
  queue_.push({when, ++order_, kind, std::move(act)});
}

void Simulation::after(Duration delay, std::uint64_t kind, std::function<void()> act) {
  at(now_ + delay, kind, std::move(act));
}

coordinator::Now Simulation::moment() const {
  const auto passed =
      std::chrono::duration_cast<std::chrono::microseconds>(now_ - kStart + wall_offset_);
  return {now_, WallTime{kWallStartUs + passed.count()}};
}

void Simulation::breaks(const std::string& what) {
  if (broken_.empty()) broken_ = what;
}

void Simulation::trace(const std::string& text) {
  if (!options_.trace) return;
  const double seconds = std::chrono::duration<double>(now_ - kStart).count();
  std::fprintf(stderr, "%10.3f %s\n", seconds, text.c_str());
}

// ---- network
// ---------------------------------------------------------------------------------------

Duration Simulation::delay() {
  if (faulty() && rng_.chance(late_permille_))
    return std::chrono::milliseconds(rng_.between(100, 6000));
  return std::chrono::microseconds(rng_.between(200, 20'000));
}

int Simulation::copies() {
  if (!faulty()) return 1;
  if (rng_.chance(loss_permille_)) return 0;
  return rng_.chance(double_permille_) ? 2 : 1;
}

void Simulation::to_coordinator(std::size_t index, ToCoordinator message) {
  WorkerNode& node = workers_[index];
  const std::string routing = node.key + "#" + std::to_string(node.generation);
  const int count = copies();
  for (int i = 0; i < count; ++i) {
    const auto arrive = [this, index, routing, message] {
      WorkerNode& from = workers_[index];
      if (from.revoked || machine_ == nullptr) return;
      tell_machine(coordinator::MessageReceived{from.key, routing, message});
    };
    deliver(index, 10 + message.index(), arrive);
  }
}

void Simulation::to_worker(std::size_t index, const std::string& routing, ToWorker message) {
  const int count = copies();
  for (int i = 0; i < count; ++i) {
    const auto arrive = [this, index, routing, message] {
      const WorkerNode& node = workers_[index];
      const std::string alive = node.key + "#" + std::to_string(node.generation);
      if (node.agent == nullptr || alive != routing) return;
      tell_agent(index, worker::FromCoordinator{message});
    };
    deliver(index, 20 + message.index(), arrive);
  }
}

void Simulation::deliver(std::size_t index, std::uint64_t kind, std::function<void()> arrive) {
  after(delay(), kind, [this, index, arrive = std::move(arrive)] {
    WorkerNode& node = workers_[index];
    if (!node.cut) {
      arrive();
    } else if (node.holds) {
      node.held.push_back(arrive);
    }
  });
}

void Simulation::mend(std::size_t index) {
  WorkerNode& node = workers_[index];
  trace("mended " + node.key + ", " + std::to_string(node.held.size()) + " held messages");
  node.cut = false;
  Duration late{};
  for (auto& arrive : std::exchange(node.held, {})) {
    after(late += 100us, 29, std::move(arrive));
  }
}

// ---- faults
// ----------------------------------------------------------------------------------------

void Simulation::next_fault() {
  if (!faulty()) return;
  const auto index =
      static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(workers_.size()) - 1));
  WorkerNode& node = workers_[index];
  switch (rng_.between(0, 11)) {
    case 0: crash_coordinator(std::chrono::milliseconds(rng_.between(100, 40'000))); break;
    case 1:
    case 2: crash_worker(index, std::chrono::milliseconds(rng_.between(500, 50'000))); break;
    case 3:
      // One worker stays dead; the last one always comes back.
      if (index != 0 && rng_.chance(300)) {
        crash_worker(index, std::nullopt);
      } else {
        crash_worker(index, 5s);
      }
      break;
    case 4:
    case 5: {
      if (node.cut) break;
      trace("cut " + node.key);
      node.cut = true;
      const bool noticed = rng_.chance(500);
      node.holds = !noticed && rng_.chance(600);
      if (noticed) link(index, false);
      after(std::chrono::milliseconds(rng_.between(500, 90'000)), 30, [this, index, noticed] {
        mend(index);
        if (noticed) link(index, true);
      });
      break;
    }
    case 6: {
      trace("stall " + node.key);
      node.stalled_until = now_ + std::chrono::milliseconds(rng_.between(200, 3000));
      break;
    }
    case 7: wall_offset_ += std::chrono::seconds(rng_.between(-5000, 5000)); break;
    case 8:
      if (node.agent != nullptr && !node.terminated) {
        trace("TERM " + node.key);
        node.terminated = true;
        node.terminated_at = now_;
        tell_agent(index, worker::Terminate{});
        if (rng_.chance(200)) tell_agent(index, worker::Terminate{});
      }
      break;
    case 9:
      if (rng_.chance(300)) {
        trace("workspaces of " + node.key + " wiped");
        node.workspaces.clear();
        node.changed.clear();
      }
      node.caches.clear();
      node.after_caches.clear();
      break;
    case 10:
      if (machine_ != nullptr) {
        const WorkerId id{1000 + index};
        const bool on = rng_.chance(500);
        trace(std::string(on ? "drain " : "undrain ") + node.key);
        tell_machine(coordinator::DrainWorker{0, id, on, rng_.chance(500) ? 5000U : 0U});
      }
      break;
    case 11:
      if (machine_ != nullptr && !store_.campaigns().empty()) {
        const CampaignId id = store_.campaigns().begin()->first;
        if (rng_.chance(150)) {
          cancelled_.insert(id);
          tell_machine(coordinator::CancelCampaign{0, id});
        } else if (rng_.chance(500)) {
          tell_machine(coordinator::PauseCampaign{0, id});
        } else {
          tell_machine(coordinator::ResumeCampaign{0, id});
        }
      }
      break;
    default: break;
  }
  after(std::chrono::milliseconds(rng_.between(500, 20'000)), 31, [this] { next_fault(); });
}

// The world is whole again: now everything has to come to its end.
void Simulation::end_faults() {
  trace("faults end");
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    mend(i);
    workers_[i].stalled_until = now_;
    if (!workers_[i].gone && workers_[i].agent != nullptr && !workers_[i].linked) link(i, true);
  }
  if (machine_ == nullptr) return;  // its restart does the rest
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    tell_machine(coordinator::DrainWorker{0, WorkerId{1000 + i}, false, 0});
  }
  for (const auto& [id, row] : store_.campaigns()) {
    tell_machine(coordinator::ResumeCampaign{0, id});
  }
}

// ---- invariants
// ------------------------------------------------------------------------------------

void Simulation::check_invariants() {
  if (!store_.broken().empty()) breaks(store_.broken());
  std::set<TaskId> running;
  for (const WorkerNode& node : workers_) {
    std::uint32_t used = 0;
    for (const auto& [token, attempt] : node.running) {
      ++used;
      if (node.revoked) continue;
      if (!running.insert(attempt.lease.spec.id).second) {
        breaks("two attempts of " + attempt.lease.spec.id.text() + " run at once");
      }
    }
    if (used > node.slots) breaks(node.key + " runs more attempts than it has slots");
    if (node.agent == nullptr && used > 0) breaks("attempts outlived their worker");
    if (node.terminated && node.agent != nullptr && now_ - node.terminated_at > 10min) {
      breaks("the drain of " + node.key + " does not end");
    }
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
    if (!node.gone && !node.revoked && !node.outbox.empty()) return false;
  }
  return true;
}

Outcome Simulation::run() {
  const auto count = static_cast<std::size_t>(rng_.between(1, 4));
  if (!options_.calm) {
    loss_permille_ = static_cast<int>(rng_.chance(600) ? 0 : rng_.between(1, 150));
    double_permille_ = static_cast<int>(rng_.chance(500) ? 0 : rng_.between(1, 100));
    late_permille_ = static_cast<int>(rng_.chance(500) ? 0 : rng_.between(1, 100));
  }
  for (std::size_t i = 0; i < count; ++i) {
    WorkerNode node;
    node.index = i;
    node.key = "key" + std::to_string(i);
    node.slots = static_cast<std::uint32_t>(rng_.between(1, 4));
    workers_.push_back(std::move(node));
  }
  start_coordinator();
  for (std::size_t i = 0; i < count; ++i) {
    after(std::chrono::milliseconds(rng_.between(0, 3000)), 32, [this, i] { start_worker(i); });
  }
  submit_campaigns();
  if (!options_.calm) {
    after(std::chrono::milliseconds(rng_.between(500, 10'000)), 31, [this] { next_fault(); });
    at(faults_end_, 33, [this] { end_faults(); });
  }
  while (broken_.empty() && !settled()) {
    if (queue_.empty()) {
      breaks("nothing happens any more");
      break;
    }
    Entry entry = queue_.top();
    queue_.pop();
    now_ = entry.at;
    if (now_ - kStart > options_.limit) {
      breaks("a campaign did not end");
      break;
    }
    hash_.add(entry.kind);
    hash_.add(static_cast<std::uint64_t>(entry.at.time_since_epoch().count()));
    ++outcome_.steps;
    entry.act();
    check_invariants();
  }
  return finish();
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
  }
  for (const auto& [id, row] : store_.campaigns()) {
    if (row.state == coordinator::CampaignState::finished) outcome_.verdicts += store_.verdicts(id);
  }
  outcome_.hash = hash_.value();
  return outcome_;
}

Outcome simulate(const Options& options) {
  return Simulation(options).run();
}

}  // namespace cupel::sim
