// The simulation for people: many seeds on all cores, or one seed again. A broken seed is made
// small and printed with the arguments that repeat it; the last line sums up.
#include "tests/sim/shrink.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace cupel::sim;

constexpr const char* kUsage =
    "usage: sim_runner [--seeds N] [--first S] [--jobs J] [--trace] [--calm] [--no-shrink]\n"
    "  [--plant BUG] [--without FAULT,...] [--quiet NOISE,...] [--repositories N] [--workers N]\n";

struct Arguments {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  std::size_t jobs = std::max(std::thread::hardware_concurrency(), 1U);
  bool shrink = true;
  Options options;
};

unsigned long long shown(std::uint64_t number) {
  return number;
}

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& names,
                                    const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

bool read_list(Arguments& all, const std::string& flag, const std::string& value) {
  std::istringstream words(value);
  for (std::string word; std::getline(words, word, ',');) {
    if (flag == "--without") {
      all.options.without.insert(std::strtoull(word.c_str(), nullptr, 10));
    } else if (const auto bit = index_of(kNoiseNames, word)) {
      all.options.quiet |= 1U << *bit;
    } else {
      return false;
    }
  }
  return true;
}

bool read_value(Arguments& all, const std::string& flag, const std::string& value) {
  const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
  if (flag == "--seeds") {
    all.seeds = number;
  } else if (flag == "--first") {
    all.first = number;
  } else if (flag == "--jobs") {
    all.jobs = std::max<std::size_t>(number, 1);
  } else if (flag == "--repositories") {
    all.options.repositories_max = static_cast<std::int64_t>(number);
  } else if (flag == "--workers") {
    all.options.workers_max = static_cast<std::int64_t>(number);
  } else if (flag == "--plant") {
    const auto plant = index_of(kPlantNames, value);
    if (!plant) return false;
    all.options.plant = static_cast<Plant>(*plant);
  } else {
    return (flag == "--without" || flag == "--quiet") && read_list(all, flag, value);
  }
  return true;
}

std::optional<Arguments> read(int argc, char** argv) {
  Arguments all;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--trace") {
      all.options.trace = true;
    } else if (flag == "--calm") {
      all.options.calm = true;
    } else if (flag == "--no-shrink") {
      all.shrink = false;
    } else if (i + 1 >= argc || !read_value(all, flag, argv[++i])) {
      return std::nullopt;
    }
  }
  if (all.options.trace) all.jobs = 1;
  return all;
}

std::vector<Outcome> run_all(const Arguments& all) {
  std::vector<Outcome> outcomes(all.seeds);
  std::atomic<std::uint64_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t job = 0; job < all.jobs; ++job) {
    threads.emplace_back([&] {
      for (std::uint64_t i = next++; i < all.seeds; i = next++) {
        Options options = all.options;
        options.seed = all.first + i;
        outcomes[i] = simulate(options);
        outcomes[i].verdicts.clear();  // a sum needs none
      }
    });
  }
  return threads.clear(), outcomes;
}

void print_broken(const Arguments& all, std::uint64_t seed, const Outcome& outcome) {
  std::printf("seed %llu: %s (%llu steps, event hash %016llx)\n", shown(seed),
              outcome.broken.c_str(), shown(outcome.steps), shown(outcome.hash));
  Options options = all.options;
  options.seed = seed;
  if (all.shrink) {
    const Shrunk small = shrink(options);
    std::printf("  smaller: %s (%llu steps, %zu of %zu faults, event hash %016llx)\n",
                small.outcome.broken.c_str(), shown(small.outcome.steps),
                small.outcome.planned - small.options.without.size(), small.outcome.planned,
                shown(small.outcome.hash));
    options = small.options;
  }
  std::printf("  again:   sim_runner %s --trace\n", arguments_of(options).c_str());
}

void print_sum(const std::vector<Outcome>& outcomes, std::size_t broken) {
  Outcome sum;
  EventHash all;
  for (const Outcome& outcome : outcomes) {
    all.add(outcome.hash);
    sum.steps += outcome.steps;
    sum.results += outcome.results;
    sum.interruptions += outcome.interruptions;
    sum.dead += outcome.dead;
    sum.coordinator_crashes += outcome.coordinator_crashes;
    sum.worker_crashes += outcome.worker_crashes;
    sum.store_failures += outcome.store_failures;
    sum.fenced += outcome.fenced;
    sum.replaced += outcome.replaced;
    sum.moved += outcome.moved;
    sum.reused += outcome.reused;
    sum.probes += outcome.probes;
    sum.replayed += outcome.replayed;
    for (std::size_t i = 0; i < kFaultKinds; ++i) sum.injected.at(i) += outcome.injected.at(i);
  }
  std::printf(
      "%zu seeds, %zu broken; %llu steps, %llu results, %llu interruptions, %llu dead letters, "
      "%llu coordinator starts after a crash, %llu worker crashes, %llu store failures, "
      "%llu late results refused, %llu repositories acquired again (%llu for repeats elsewhere), "
      "%llu before sides reused, %llu probes, %llu letters replayed; event hash %016llx\n",
      outcomes.size(), broken, shown(sum.steps), shown(sum.results), shown(sum.interruptions),
      shown(sum.dead), shown(sum.coordinator_crashes), shown(sum.worker_crashes),
      shown(sum.store_failures), shown(sum.fenced), shown(sum.replaced), shown(sum.moved),
      shown(sum.reused), shown(sum.probes), shown(sum.replayed), shown(all.value()));
  std::printf("faults:");
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    const std::string_view fault = name(static_cast<FaultKind>(i));
    std::printf(" %.*s %llu", static_cast<int>(fault.size()), fault.data(),
                shown(sum.injected.at(i)));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = read(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::vector<Outcome> outcomes = run_all(*arguments);
  constexpr std::size_t kShownMax = 10;
  std::size_t broken = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].broken.empty()) continue;
    if (++broken <= kShownMax) print_broken(*arguments, arguments->first + i, outcomes[i]);
  }
  print_sum(outcomes, broken);
  return broken == 0 ? 0 : 1;
}
