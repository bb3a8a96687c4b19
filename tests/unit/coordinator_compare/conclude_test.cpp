#include "tests/unit/coordinator_compare/sides.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator::compare {
namespace {

const Finding kA = failure("m/p", "TestA");
const Finding kB = failure("m/p", "TestB");
const Rules kRules{.runs = 2, .need = 2, .module = "m"};

Verdict verdict(const Book& runs, const Rules& rules = kRules) {
  const Conclusion found = conclude(runs, rules);
  EXPECT_FALSE(found.repeat) << "more repeats are asked for";
  return found.verdict;
}
std::optional<Side> repeat(const Book& runs, const Rules& rules = kRules) {
  return conclude(runs, rules).repeat;
}

TEST(Conclude, PassingOnBothSidesIsCompatibleAtOnce) {
  EXPECT_EQ(verdict(book({result()}, {result()})), Verdict::compatible);
}

TEST(Conclude, TheSameFailuresAreBrokenBeforeAtOnce) {
  EXPECT_EQ(verdict(book({result({kA})}, {result({kA})})), Verdict::broken_before);
}

TEST(Conclude, ADifferenceIsRepeatedOnBothSidesInTurnsTheAfterSideFirst) {
  EXPECT_EQ(repeat(book({result()}, {result({kA})})), Side::after);
  EXPECT_EQ(repeat(book({result()}, {result({kA}), result({kA})})), Side::before);
  EXPECT_EQ(repeat(book({result(), result()}, {result({kA}), result({kA})})), Side::after);
}

TEST(Conclude, RegressedNeedsEveryRepeatOfTheAfterSideAndNoneOfTheOther) {
  const Book runs =
      book({result(), result(), result()}, {result({kA}), result({kA}), result({kA})});

  const Conclusion found = conclude(runs, kRules);

  EXPECT_EQ(found.verdict, Verdict::regressed);
  EXPECT_EQ(found.fault, Fault::change);
  EXPECT_EQ(found.message, "test_failure m/p TestA: broken");
  EXPECT_EQ(found.decider, runs.after.front().task);
}

TEST(Conclude, ARepeatThatPassesMakesItFlakyWithoutFurtherRuns) {
  const Conclusion found = conclude(book({result()}, {result({kA}), result()}), kRules);

  EXPECT_EQ(found.verdict, Verdict::flaky);
  EXPECT_EQ(found.message, "failed in 0 of 1 runs before and 1 of 2 runs after");
  ASSERT_EQ(found.flakes.size(), 1U);
  EXPECT_EQ(found.flakes[0].hits, 1U);
  EXPECT_EQ(found.flakes[0].runs, 2U);
}

TEST(Conclude, OneFailureOfTheBeforeSideIsEnoughForFlaky) {
  EXPECT_EQ(verdict(book({result(), result({kA})}, {result({kA}), result({kA})})), Verdict::flaky);
}

TEST(Conclude, FewerRepeatsMayBeEnoughWhenTheFileSaysSo) {
  const Rules two_of_three{.runs = 3, .need = 2, .module = "m"};
  const TaskResult red = result({kA});
  const TaskResult green = result();

  EXPECT_EQ(verdict(book({green, green, green, green}, {red, red, green, red}), two_of_three),
            Verdict::regressed);
  EXPECT_EQ(verdict(book({green, green, green}, {red, green, green}), two_of_three),
            Verdict::flaky);
}

TEST(Conclude, APackageThatFailsWithOtherFindingsEachTimeIsRegressedAllTheSame) {
  const Finding c = failure("m/p", "TestC");

  EXPECT_EQ(
      verdict(book({result(), result(), result()}, {result({kA}), result({kB}), result({c})})),
      Verdict::regressed);
}

TEST(Conclude, FixedNeedsTheFailureOnEveryRepeatOfTheBeforeSide) {
  EXPECT_EQ(
      verdict(book({result({kA}), result({kA}), result({kA})}, {result(), result(), result()})),
      Verdict::fixed);
  EXPECT_EQ(verdict(book({result({kA}), result()}, {result(), result()})), Verdict::flaky);
}

TEST(Conclude, OtherFailuresThanBeforeAreAChangedFailure) {
  const TaskResult a = result({kA});
  const TaskResult b = result({kB});

  EXPECT_EQ(verdict(book({a, a, a}, {b, b, b})), Verdict::changed_failure);
}

TEST(Conclude, AFlakeBesideAStableFailureLeavesItBrokenBefore) {
  const TaskResult stable = result({kA});

  EXPECT_EQ(verdict(book({stable}, {result({kA, kB}), stable})), Verdict::broken_before);
}

TaskResult says(const std::string& words) {
  return result({failure("m/p", "TestA", words)});
}

TEST(Conclude, WordsThatChangeFromRunToRunAreBrokenBefore) {
  const Conclusion found = conclude(book({says("id kx")}, {says("id qz"), says("id kx")}), kRules);

  EXPECT_EQ(found.verdict, Verdict::broken_before);
  EXPECT_EQ(found.message,
            "fails with and without the change; only its words are others in each run");
  EXPECT_TRUE(found.flakes.empty());
  EXPECT_EQ(verdict(book({says("id a"), says("id b"), says("id c")},
                         {says("id d"), says("id e"), says("id f")})),
            Verdict::broken_before);
}

TEST(Conclude, WordsOfNoFixedNumberAreBrokenBefore) {
  EXPECT_EQ(verdict(book({says("saw x"), says("saw x y")}, {says("saw q w e"), says("saw q")})),
            Verdict::broken_before);
}

TEST(Conclude, OtherWordsInEachRunOfASideAreAChangedFailure) {
  EXPECT_EQ(verdict(book({says("a"), says("a"), says("a")}, {says("b"), says("b"), says("b")})),
            Verdict::changed_failure);
  // What varies beside them doesn't hide them.
  EXPECT_EQ(verdict(book({says("no user ka"), says("no user lb"), says("no user mc")},
                         {says("no group nd"), says("no group oe"), says("no group pf")})),
            Verdict::changed_failure);
}

TEST(Conclude, OtherNumbersInWhatATestSaysAreUnchanged) {
  EXPECT_EQ(verdict(book({says("always red at 0x? with 1")}, {says("always red at 0x? with 3")})),
            Verdict::broken_before);
}

TEST(Conclude, WithoutRepeatsWordsShowNothing) {
  const Rules none{.runs = 0, .need = 0, .module = "m"};

  EXPECT_EQ(verdict(book({says("a")}, {says("b")}), none), Verdict::broken_before);
}

TEST(Conclude, ATestTimeoutMustRepeatOnEveryAfterRunWhateverTheFileSays) {
  const Rules lax{.runs = 2, .need = 1, .module = "m"};
  const TaskResult hung = result({of_kind(kA, FindingKind::test_timeout, "test")});
  const TaskResult green = result();

  EXPECT_EQ(verdict(book({green, green}, {hung, green}), lax), Verdict::flaky);
  EXPECT_EQ(verdict(book({green, green, green}, {hung, hung, hung}), lax), Verdict::regressed);
  EXPECT_EQ(verdict(book({green, green, green}, {result({kA}), green, result({kA})}), lax),
            Verdict::regressed);
}

class Trouble : public ::testing::TestWithParam<Reason> {};

TEST_P(Trouble, OfTheFirstAfterRunIsInconclusiveWithItsReason) {
  const Conclusion found = conclude(book({result()}, {inconclusive(GetParam())}), kRules);

  EXPECT_FALSE(found.repeat);
  EXPECT_EQ(found.verdict, Verdict::inconclusive);
  EXPECT_EQ(found.reason, GetParam());
}

TEST_P(Trouble, OfRepeatsNeverConfirmsAnything) {
  const TaskResult bad = inconclusive(GetParam());

  EXPECT_EQ(repeat(book({result()}, {result({kA}), bad})), Side::after);
  const Conclusion found =
      conclude(book({result(), result(), result()}, {result({kA}), bad, bad, bad, bad}), kRules);
  EXPECT_FALSE(found.repeat);
  EXPECT_EQ(found.verdict, Verdict::inconclusive);
  EXPECT_EQ(found.reason, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Conclude, Trouble,
                         ::testing::Values(Reason::timeout, Reason::resource_memory,
                                           Reason::resource_disk, Reason::resource_pids,
                                           Reason::upstream, Reason::engine, Reason::lease_lost,
                                           Reason::output_truncated, Reason::unexplained_exit));

TEST(Conclude, ACutRunFeedsNothingWhateverItHolds) {
  TaskResult cut = result({kA});
  cut.findings_truncated = true;

  const Conclusion found = conclude(book({result()}, {cut}), kRules);

  EXPECT_EQ(found.verdict, Verdict::inconclusive);
  EXPECT_EQ(found.reason, Reason::output_truncated);
}

TEST(Conclude, FindingsThatCameAsAnArtifactCountAsCut) {
  TaskResult large = result();
  large.outcome = Outcome::failing;
  large.findings_artifact = sha256("x");

  EXPECT_EQ(conclude(book({result()}, {large}), kRules).reason, Reason::output_truncated);
}

TEST(Conclude, SidesUnderOtherConditionsAreNotCompared) {
  TaskResult other = result({kA});
  other.evidence.parser_version = 2;

  const Conclusion found = conclude(book({result()}, {other}), kRules);

  EXPECT_EQ(found.verdict, Verdict::inconclusive);
  EXPECT_EQ(found.fault, Fault::fleet);
  EXPECT_EQ(found.message, "the sides can't be compared: parser: 1 before, 2 after");
}

TEST(Conclude, ARepeatUnderOtherConditionsDoesNotCount) {
  TaskResult other = result();
  other.evidence.engine = "docker 25";

  EXPECT_EQ(repeat(book({result()}, {result({kA}), other})), Side::after);
}

TEST(Conclude, WithoutRepeatsTheFirstDifferenceCounts) {
  const Rules none{.runs = 0, .need = 0, .module = "m"};

  EXPECT_EQ(verdict(book({result()}, {result({kA})}), none), Verdict::regressed);
  EXPECT_EQ(verdict(book({result({kA})}, {result()}), none), Verdict::fixed);
}

TEST(Conclude, FindingsInOtherModulesAloneAreTheDependencysFault) {
  const TaskResult green = result();
  const TaskResult red =
      result({of_kind(failure("example.com/lib", ""), FindingKind::build_failure, "build")});

  EXPECT_EQ(conclude(book({green, green, green}, {red, red, red}), kRules).fault,
            Fault::dependency);
}

}  // namespace
}  // namespace cupel::coordinator::compare
