#include "common/core/noise.hpp"

#include "tests/unit/coordinator_compare/sides.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace cupel::coordinator::compare {
namespace {

/// splitmix64: a stream of its own, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  bool happens(double p) { return static_cast<double>(next() >> 11U) * 0x1.0p-53 < p; }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

struct Seen {
  std::map<Verdict, std::uint64_t> verdicts;
  std::uint64_t differ = 0;
  std::uint64_t runs = 0;
};

/// Units whose one test fails with probability p on either side, judged as a campaign would.
Seen flickering_units(std::uint64_t units, double p, const Rules& rules, std::uint64_t seed) {
  Random random(seed);
  const TaskResult green = result();
  const TaskResult red = result({failure("m/p", "TestFlaky")});
  Seen seen;
  for (std::uint64_t i = 0; i < units; ++i) {
    const auto run = [&]() -> const TaskResult& {
      ++seen.runs;
      return random.happens(p) ? red : green;
    };
    Book unit = book({run()}, {run()});
    if (unit.before[0].outcome != unit.after[0].outcome) ++seen.differ;
    Conclusion found = conclude(unit, rules);
    while (found.repeat) {
      auto& side = *found.repeat == Side::after ? unit.after : unit.before;
      side.push_back(run_of(unit, run()));
      found = conclude(unit, rules);
    }
    ++seen.verdicts[found.verdict];
  }
  return seen;
}

TEST(Noise, AFlakyTestEndsAsFlakyAndFalseRegressionsStayWithinWhatIsExpected) {
  constexpr std::uint64_t kUnits = 20'000;
  const Rules rules{.runs = 3, .need = 3, .module = "m"};

  const Seen seen = flickering_units(kUnits, 0.3, rules, 7);

  const double differ = static_cast<double>(seen.differ);
  EXPECT_NEAR(differ / kUnits, 0.42, 0.01);
  EXPECT_GE(static_cast<double>(seen.verdicts.at(Verdict::flaky)) / differ, 0.95);
  const double expected = false_regression(0.3, 3, 3) * kUnits;
  const auto found = seen.verdicts.contains(Verdict::regressed)
                         ? static_cast<double>(seen.verdicts.at(Verdict::regressed))
                         : 0.0;
  RecordProperty("expected_false_regressions", std::to_string(expected));
  RecordProperty("seen_false_regressions", std::to_string(found));
  EXPECT_NEAR(expected, 38.9, 0.1);
  EXPECT_NEAR(found, expected, 4 * std::sqrt(expected));
}

TEST(Noise, HundredUnitsGiveNoFalseRegressionOnMostSeeds) {
  const Rules rules{.runs = 3, .need = 3, .module = "m"};
  std::uint64_t regressed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Seen seen = flickering_units(100, 0.3, rules, seed);
    if (seen.verdicts.contains(Verdict::regressed)) ++regressed;
  }

  // 0.19 are expected for each seed: some of fifty have one.
  EXPECT_LT(regressed, 20U);
  EXPECT_GT(regressed, 2U);
}

TEST(Noise, AMeasuredShareGivesTheExpectation) {
  const Expectation out = expected_false_regressions({.pairs = 100, .differ = 42}, 1000, 3, 3);

  EXPECT_TRUE(out.measured);
  EXPECT_NEAR(out.differ_share, 0.42, 1e-9);
  EXPECT_NEAR(out.false_regressed, 1000 * false_regression(0.3, 3, 3), 1e-6);
  EXPECT_GE(out.bound, out.false_regressed);
  EXPECT_NEAR(out.bound, 1000.0 / 256, 1e-2) << "no sample makes it more than the worst of all";
  // Clopper-Pearson: 20 of 100 are at most 0.27720 with 95 % confidence.
  EXPECT_NEAR(expected_false_regressions({.pairs = 100, .differ = 20}, 1000, 3, 3).bound,
              277.20 / 128, 1e-3);
}

TEST(Noise, WithoutASampleOnlyTheBoundIsKnown) {
  const Expectation out = expected_false_regressions({}, 256, 3, 3);

  EXPECT_FALSE(out.measured);
  EXPECT_NEAR(out.bound, 1.0, 1e-3);  // at p = 1/2: 2^-8 of the units
}

TEST(Noise, AQuietSampleExpectsNothingAndSaysHowMuchThatIsWorth) {
  const Expectation out = expected_false_regressions({.pairs = 50, .differ = 0}, 1000, 3, 3);
  const Expectation tiny = expected_false_regressions({.pairs = 1, .differ = 0}, 1000, 3, 3);
  const Expectation unknown = expected_false_regressions({}, 1000, 3, 3);

  EXPECT_EQ(out.false_regressed, 0);
  // Three in fifty could differ all the same: 1 - 0.05^(1/50).
  EXPECT_NEAR(out.bound, 1000 * 0.05816 / 128, 1e-3);
  EXPECT_EQ(tiny.bound, unknown.bound) << "one quiet unit says nothing about the others";
}

TEST(Noise, TheBoundOfALargeSampleComesNearToWhatItShows) {
  const Expectation out = expected_false_regressions({.pairs = 100'000, .differ = 42'000}, 1, 3, 3);
  const Expectation all = expected_false_regressions({.pairs = 2, .differ = 2}, 1, 3, 3);

  EXPECT_NEAR(out.bound * 128, 0.42, 0.005);
  EXPECT_EQ(all.bound, expected_false_regressions({}, 1, 3, 3).bound);
}

TEST(Noise, FewerNeededRepeatsLetMoreThrough) {
  EXPECT_GT(false_regression(0.3, 3, 2), false_regression(0.3, 3, 3));
  EXPECT_NEAR(false_regression(0.3, 0, 0), 0.21, 1e-9);
}

}  // namespace
}  // namespace cupel::coordinator::compare
