/// Makes a failing run small: leaves out large faults, noise, repositories and workers while it
/// still fails.
#pragma once

#include "tests/sim/simulation.hpp"

#include <string>

namespace cupel::sim {

struct Shrunk {
  Options options;  ///< Fails in the same way as the run that was given.
  Outcome outcome;
  std::size_t tries = 0;
};

/// `failing` must fail. At most `tries_max` runs; the result is small, not smallest.
[[nodiscard]] Shrunk shrink(const Options& failing, std::size_t tries_max = 400);

/// The arguments of sim_runner that repeat this run.
[[nodiscard]] std::string arguments_of(const Options& options);

}  // namespace cupel::sim
