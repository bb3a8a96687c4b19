#include "coordinator/core/compare/culprit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace cupel::coordinator::compare {
namespace {

struct Found {
  Parts culprit;
  std::size_t probes = 0;
  bool minimal = false;
};

Found found_by(std::size_t parts, std::size_t probes_max,
             const std::function<ProbeOutcome(const Parts&)>& truth) {
  std::vector<Probe> known;
  for (;;) {
    const Search step = search_culprit(parts, known, probes_max);
    if (!step.next) return {step.culprit, known.size(), step.minimal};
    known.push_back({*step.next, truth(*step.next)});
    if (known.size() > probes_max) {
      ADD_FAILURE() << "more probes than allowed";
      return {};
    }
  }
}

std::function<ProbeOutcome(const Parts&)> all_of(Parts needed) {
  return [needed = std::move(needed)](const Parts& parts) {
    return std::ranges::includes(parts, needed) ? ProbeOutcome::shows : ProbeOutcome::clean;
  };
}

TEST(SearchCulprit, FindsTheOneOfEightThatBreaks) {
  for (std::uint16_t culprit = 0; culprit < 8; ++culprit) {
    const Found found = found_by(8, 16, all_of({culprit}));

    EXPECT_EQ(found.culprit, Parts{culprit});
    EXPECT_TRUE(found.minimal);
    EXPECT_LE(found.probes, 6U) << "part " << culprit;
    RecordProperty("probes_for_part_" + std::to_string(culprit), static_cast<int>(found.probes));
  }
}

TEST(SearchCulprit, FindsTwoThatBreakOnlyTogether) {
  for (std::uint16_t a = 0; a < 8; ++a) {
    for (std::uint16_t b = a + 1; b < 8; ++b) {
      const Found found = found_by(8, 64, all_of({a, b}));

      EXPECT_EQ(found.culprit, (Parts{a, b}));
      EXPECT_TRUE(found.minimal);
    }
  }
}

TEST(SearchCulprit, WithinItsBudgetTheBestSoFarIsTheAnswer) {
  const Found found = found_by(64, 2, all_of({40}));

  EXPECT_EQ(found.probes, 2U);
  EXPECT_FALSE(found.minimal);
  EXPECT_TRUE(std::ranges::includes(found.culprit, Parts{40}));
  EXPECT_EQ(found.culprit.size(), 32U);
}

TEST(SearchCulprit, PartsThatCantBeAppliedAloneAreKeptWithWhatTheyNeed) {
  // Part 2 breaks, and can only be applied together with part 3.
  const Found found = found_by(6, 64, [](const Parts& parts) {
    const bool breaks = std::ranges::includes(parts, Parts{2});
    const bool applies = std::ranges::includes(parts, Parts{3});
    if (breaks && !applies) return ProbeOutcome::unresolved;
    return breaks ? ProbeOutcome::shows : ProbeOutcome::clean;
  });

  EXPECT_EQ(found.culprit, (Parts{2, 3}));
}

TEST(SearchCulprit, OnePartNeedsNoProbe) {
  const Search one = search_culprit(1, {}, 16);

  EXPECT_FALSE(one.next);
  EXPECT_EQ(one.culprit, Parts{0});
  EXPECT_TRUE(one.minimal);
}

TEST(SearchCulprit, ABudgetOfNothingAsksNothing) {
  EXPECT_FALSE(search_culprit(4, {}, 0).next);
}

}  // namespace
}  // namespace cupel::coordinator::compare
