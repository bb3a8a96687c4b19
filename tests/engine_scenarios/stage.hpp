/// Plays one scenario: the scripted engine on one side, Cupel's own client, run executor and reaper
/// on the other.
#pragma once

#include "tests/engine_scenarios/scenario.hpp"

#include <string>
#include <vector>

namespace cupel::scenarios {

struct Played {
  std::vector<std::string> differences;  ///< Empty: all is as expected.
  Duration took{};
  [[nodiscard]] bool as_expected() const { return differences.empty(); }
};

/// Blocks for at most the scenario's time limit and a little. Several may be played at once, each
/// on a thread.
[[nodiscard]] Played play_scenario(const Scenario& scenario);

}  // namespace cupel::scenarios
