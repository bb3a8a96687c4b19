#include "tests/sim/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace cupel::sim {
namespace {

// A sanitizer makes a seed ten times as slow.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CUPEL_SIM_SLOW 1
#endif
#endif
#ifdef CUPEL_SIM_SLOW
constexpr std::uint64_t kSeeds = 150;
#else
constexpr std::uint64_t kSeeds = 2000;
#endif

TEST(Simulation, EveryInvariantHoldsUnderFaults) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = simulate({.seed = seed});

    ASSERT_EQ(outcome.broken, "") << "sim_runner --seeds 1 --trace --first " << seed;
  }
}

TEST(Simulation, TheSameSeedGivesTheSameEvents) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(simulate({.seed = seed}).hash, simulate({.seed = seed}).hash) << seed;
  }
}

TEST(Simulation, DifferentSeedsGiveDifferentEvents) {
  EXPECT_NE(simulate({.seed = 1}).hash, simulate({.seed = 2}).hash);
}

TEST(Simulation, NothingIsInterruptedWhenNothingGoesWrong) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Outcome outcome = simulate({.seed = seed, .calm = true});

    ASSERT_EQ(outcome.broken, "") << seed;
    ASSERT_EQ(outcome.interruptions, 0U) << seed;
    ASSERT_EQ(outcome.dead, 0U) << seed;
    ASSERT_EQ(outcome.fenced, 0U) << seed;
  }
}

TEST(Simulation, ChangesComeToEveryVerdictThatTheyMay) {
  std::string verdicts;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    verdicts += simulate({.seed = seed, .calm = true}).verdicts;
  }

  for (const std::string_view word :
       {"compatible", "regressed", "fixed", "broken_before", "flaky", "refused"}) {
    EXPECT_NE(verdicts.find(" " + std::string(word) + "\n"), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace cupel::sim
