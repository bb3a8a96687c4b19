#include "tests/unit/coordinator_compare/sides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::coordinator::compare {
namespace {

Difference between(std::vector<Finding> before, std::vector<Finding> after) {
  const Book two = book({result(std::move(before))}, {result(std::move(after))});
  return difference_of(two, two.before.front(), two.after.front());
}

TEST(DifferenceOf, EqualFindingsAreUnchangedWhateverLineTheyStandOn) {
  Finding moved = failure("m/p", "TestA");
  moved.line = 99;

  const Difference difference = between({failure("m/p", "TestA")}, {moved});

  EXPECT_TRUE(difference.empty());
  EXPECT_EQ(difference.unchanged.size(), 1U);
}

TEST(DifferenceOf, ASecondEqualDiagnosticIsIntroduced) {
  const Difference difference =
      between({vet("a.go", "bad verb")}, {vet("a.go", "bad verb"), vet("a.go", "bad verb")});

  ASSERT_EQ(difference.introduced.size(), 1U);
  EXPECT_EQ(difference.introduced[0].before, 1U);
  EXPECT_EQ(difference.introduced[0].after, 2U);
}

TEST(DifferenceOf, PlacesThatOneFindingStandsForAreCounted) {
  Finding more = vet("a.go", "bad verb");
  more.more_places = 3;

  const Difference difference = between({vet("a.go", "bad verb"), vet("b.go", "bad verb")}, {more});

  ASSERT_EQ(difference.introduced.size(), 1U);
  EXPECT_EQ(difference.introduced[0].before, 1U);
  EXPECT_EQ(difference.introduced[0].after, 4U);
  EXPECT_EQ(difference.resolved.size(), 1U);
}

TEST(DifferenceOf, OneOfTwoEqualDiagnosticsGoneIsResolved) {
  const Difference difference =
      between({vet("a.go", "bad verb"), vet("a.go", "bad verb")}, {vet("a.go", "bad verb")});

  EXPECT_EQ(difference.resolved.size(), 1U);
}

TEST(DifferenceOf, TestsOfAPackageThatNoLongerBuildsAreNotRun) {
  Finding build = of_kind(failure("m/p", ""), FindingKind::build_failure, "build");

  const Difference difference = between({failure("m/p", "TestA")}, {build});

  ASSERT_EQ(difference.not_run.size(), 1U);
  EXPECT_EQ(difference.introduced.size(), 1U);
  EXPECT_TRUE(difference.resolved.empty());
}

TEST(DifferenceOf, ASubtestUnderAParentThatFailsOnBothSidesIsNoNews) {
  const Finding parent_before =
      of_kind(failure("m/p", "TestA"), FindingKind::test_failure_derived, "test");

  const Difference difference = between({failure("m/p", "TestA/x1"), parent_before},
                                        {failure("m/p", "TestA/x2"), parent_before});

  EXPECT_TRUE(difference.empty());
}

TEST(DifferenceOf, MoreFailingSubtestsUnderAFailingParentAreNews) {
  const Finding parent =
      of_kind(failure("m/p", "TestA"), FindingKind::test_failure_derived, "test");

  const Difference difference = between(
      {failure("m/p", "TestA/old"), parent},
      {failure("m/p", "TestA/old"), failure("m/p", "TestA/x"), failure("m/p", "TestA/y"), parent});

  EXPECT_EQ(difference.introduced.size(), 2U);
  EXPECT_EQ(difference.unchanged.size(), 1U);
}

TEST(DifferenceOf, FewerFailingSubtestsUnderAFailingParentAreResolved) {
  const Finding parent =
      of_kind(failure("m/p", "TestA"), FindingKind::test_failure_derived, "test");

  const Difference difference =
      between({failure("m/p", "TestA/old"), failure("m/p", "TestA/x"), parent},
              {failure("m/p", "TestA/old"), parent});

  EXPECT_EQ(difference.resolved.size(), 1U);
  EXPECT_EQ(difference.unchanged.size(), 1U);
}

TEST(DifferenceOf, ASubtestUnderAParentThatPassedBeforeIsIntroduced) {
  const Finding parent =
      of_kind(failure("m/p", "TestA"), FindingKind::test_failure_derived, "test");

  const Difference difference = between(
      {failure("m/q", "TestB")}, {failure("m/q", "TestB"), failure("m/p", "TestA/x"), parent});

  ASSERT_EQ(difference.introduced.size(), 1U);
}

TEST(DifferenceOf, InferredFindingsCompareByTheirPackage) {
  Finding guess = failure("m/p", "TestHint");
  guess.inferred = true;

  EXPECT_TRUE(between({failure("m/p", "TestA")}, {guess}).introduced.empty());
  EXPECT_EQ(between({failure("m/q", "TestA")}, {guess}).introduced.size(), 1U);
}

TEST(DifferenceOf, ADependencysDiagnosticIsNotNewBecauseItsVersionIsInAPath) {
  Finding before = vet("../cache/example.com/lib@v1.0.0/x.go", "in example.com/lib@v1.0.0: odd");
  Finding after =
      vet("../cache/example.com/lib@v1.2.0-rc.1+x/x.go", "in example.com/lib@v1.2.0-rc.1+x: odd");

  EXPECT_TRUE(between({before}, {after}).empty());
}

TEST(DifferenceOf, OtherWordsForTheSameTestAreAltered) {
  const Difference difference =
      between({failure("m/p", "TestA", "got 1")}, {failure("m/p", "TestA", "panic")});

  EXPECT_EQ(difference.altered.size(), 1U);
}

TEST(WithoutVersions, TakesOnlyVersionsOut) {
  EXPECT_EQ(without_versions("a@v1.2.3-pre+b/x.go mail@vendor.org user@v"),
            "a@v/x.go mail@vendor.org user@v");
}

TEST(DependencyOf, IsTheLongestMovedModuleThatTheFindingNames) {
  const ModuleMove lib{"example.com/lib", "v1.0.0", "v1.1.0"};
  const ModuleMove sub{"example.com/lib/sub", "v1.0.0", "v1.1.0"};
  const Book one = book(
      {},
      {result({of_kind(failure("example.com/lib/sub/p", ""), FindingKind::build_failure, "build"),
               failure("m/p", "TestA", "undefined: lib.Gone"),
               failure("m/p", "TestB", "example.com/lib/q: gone")})});

  EXPECT_EQ(dependency_of(one.marks[0], change({lib, sub}))->module, "example.com/lib/sub");
  EXPECT_EQ(dependency_of(one.marks[1], change({lib, sub})), nullptr);
  EXPECT_EQ(dependency_of(one.marks[2], change({lib, sub}))->module, "example.com/lib");
}

TEST(WhyIncomparable, NamesTheConditionThatDiffers) {
  TaskResult other = result();
  other.evidence.engine = "docker 25";
  const Book two = book({result()}, {other});
  std::vector<std::string> explained;

  EXPECT_EQ(why_incomparable(two.before[0], two.after[0], false, explained),
            "engine: docker 20.10 before, docker 25 after");
}

TEST(WhyIncomparable, AnotherImageIsExplainedByAnotherGoVersion) {
  TaskResult other = result();
  other.evidence.image = "sha256:b";
  other.evidence.go_version = "go1.27.0";
  const Book two = book({result()}, {other});
  std::vector<std::string> explained;

  EXPECT_NE(why_incomparable(two.before[0], two.after[0], false, explained), "");
  EXPECT_EQ(why_incomparable(two.before[0], two.after[0], true, explained), "");
  EXPECT_EQ(explained.size(), 2U);
}

TEST(WhyIncomparable, ACheckThatOnlyOneSideCameToIsNoDifference) {
  TaskResult less = result();
  less.checks.clear();
  TaskResult other = result();
  other.checks[0].command = {"go", "test", "-short", "./..."};
  const Book two = book({result()}, {less, other});
  std::vector<std::string> explained;

  EXPECT_EQ(why_incomparable(two.before[0], two.after[0], false, explained), "");
  EXPECT_EQ(why_incomparable(two.before[0], two.after[1], false, explained),
            "the command line of check test differs");
}

TEST(WhyIncomparable, HowTheBuildCacheWasSeededDoesNotMatter) {
  for (const char* const how : {"seeded:copied", "seeded:linked, dependencies:linked"}) {
    TaskResult other = result();
    other.evidence.build_cache = how;
    const Book two = book({result()}, {other});
    std::vector<std::string> explained;

    EXPECT_EQ(why_incomparable(two.before[0], two.after[0], false, explained), "") << how;
  }
}

}  // namespace
}  // namespace cupel::coordinator::compare
