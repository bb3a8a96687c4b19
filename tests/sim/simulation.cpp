#include "tests/sim/simulation.hpp"

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
      start_(kStart),
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
      std::chrono::duration_cast<std::chrono::microseconds>(now_ - start_ + wall_offset_);
  return {now_ + machine_epoch_, WallTime{kWallStartUs + passed.count()}};
}

void Simulation::breaks(const std::string& what) {
  if (broken_.empty()) broken_ = what;
}

void Simulation::trace(const std::string& text) {
  if (!options_.trace) return;
  const double seconds = std::chrono::duration<double>(now_ - start_).count();
  std::fprintf(stderr, "%10.3f %s\n", seconds, text.c_str());
}

Outcome Simulation::run() {
  const auto count = static_cast<std::size_t>(std::min(options_.workers_max, rng_.between(1, 4)));
  if (!options_.calm) {
    loss_permille_ = static_cast<int>(rng_.chance(600) ? 0 : rng_.between(1, 150));
    double_permille_ = static_cast<int>(rng_.chance(500) ? 0 : rng_.between(1, 100));
    late_permille_ = static_cast<int>(rng_.chance(500) ? 0 : rng_.between(1, 100));
  }
  for (std::size_t i = 0; i < count; ++i) {
    WorkerNode node;
    node.index = i;
    node.key = "key" + std::to_string(i);
    node.id = WorkerId{1000 + i};
    node.slots = static_cast<std::uint32_t>(rng_.between(1, 4));
    node.epoch = std::chrono::seconds(rng_.between(0, 1'000'000));
    if (!options_.calm) node.ppm = rng_.between(-2000, 2000);
    workers_.push_back(std::move(node));
  }
  start_coordinator();
  for (std::size_t i = 0; i < count; ++i) {
    after(std::chrono::milliseconds(rng_.between(0, 3000)), 32, [this, i] { start_worker(i); });
  }
  submit_campaigns();
  if (!options_.calm) {
    plan_faults();
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
    if (now_ - start_ > options_.limit) {
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

Outcome simulate(const Options& options) {
  return Simulation(options).run();
}

}  // namespace cupel::sim
