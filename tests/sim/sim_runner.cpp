// sim_runner --seeds N --first S [--trace] [--calm]: one line a broken seed, a summary at the end.
#include "tests/sim/simulation.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  cupel::sim::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--trace") {
      options.trace = true;
    } else if (flag == "--calm") {
      options.calm = true;
    } else if ((flag == "--seeds" || flag == "--first") && i + 1 < argc) {
      (flag == "--seeds" ? seeds : first) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: sim_runner [--seeds N] [--first S] [--trace] [--calm]\n");
      return 2;
    }
  }
  int broken = 0;
  cupel::sim::Outcome sum;
  cupel::sim::EventHash all;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    options.seed = seed;
    const cupel::sim::Outcome outcome = cupel::sim::simulate(options);
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
    if (outcome.broken.empty()) continue;
    ++broken;
    std::fflush(stdout);
    std::printf("seed %llu: %s (hash %016llx)\n", static_cast<unsigned long long>(seed),
                outcome.broken.c_str(), static_cast<unsigned long long>(outcome.hash));
  }
  std::printf(
      "%llu seeds, %d broken; %llu steps, %llu results, %llu interruptions, %llu dead letters, "
      "%llu coordinator crashes, %llu worker crashes, %llu store failures, %llu late results, "
      "%llu repositories acquired again; hash %016llx\n",
      static_cast<unsigned long long>(seeds), broken, static_cast<unsigned long long>(sum.steps),
      static_cast<unsigned long long>(sum.results),
      static_cast<unsigned long long>(sum.interruptions), static_cast<unsigned long long>(sum.dead),
      static_cast<unsigned long long>(sum.coordinator_crashes),
      static_cast<unsigned long long>(sum.worker_crashes),
      static_cast<unsigned long long>(sum.store_failures),
      static_cast<unsigned long long>(sum.fenced), static_cast<unsigned long long>(sum.replaced),
      static_cast<unsigned long long>(all.value()));
  return broken == 0 ? 0 : 1;
}
