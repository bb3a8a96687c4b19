#include "tests/unit/coordinator_compare/sides.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cupel::coordinator::compare {
namespace {

const Finding kFlake = failure("m/flaky", "TestFlake");
const Finding kNew = failure("m/p", "TestNew");
const Rules kThrice{.runs = 3, .need = 3, .module = "m"};

/// What a campaign would conclude whose runs, as they are asked for, end like these.
Conclusion concluded(const std::vector<TaskResult>& before, const std::vector<TaskResult>& after,
                     const Rules& rules = kThrice) {
  std::size_t next_before = 1;
  std::size_t next_after = 1;
  Book runs = book({before.front()}, {after.front()});
  Conclusion found = conclude(runs, rules);
  while (found.repeat) {
    const bool of_after = *found.repeat == Side::after;
    const TaskResult& next = of_after ? after.at(next_after++) : before.at(next_before++);
    (of_after ? runs.after : runs.before).push_back(run_of(runs, next));
    found = conclude(runs, rules);
  }
  return found;
}

TaskResult all(std::vector<Finding> findings) {
  return result(std::move(findings));
}

/// Four runs of which the one at `where` is another one.
std::vector<TaskResult> but_for(std::size_t where, const TaskResult& other,
                                const TaskResult& usual = result()) {
  std::vector<TaskResult> runs(4, usual);
  runs.at(where) = other;
  return runs;
}

class FlakyBefore : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FlakyBefore, DoesNotHideAFailureOfEveryAfterRunAndIsNamed) {
  const Conclusion found =
      concluded(but_for(GetParam(), all({kFlake})), but_for(0, all({kNew}), all({kNew})));

  EXPECT_EQ(found.verdict, Verdict::regressed);
  EXPECT_EQ(found.fault, Fault::change);
  EXPECT_EQ(found.message,
            "test_failure m/p TestNew: broken; set aside: m/flaky TestFlake (failed in 1 of 4 runs "
            "before)");
  ASSERT_EQ(found.flakes.size(), 1U);
  EXPECT_EQ(found.flakes[0].side, Side::before);
  EXPECT_EQ(found.flakes[0].hits, 1U);
}

TEST_P(FlakyBefore, InThePackageOfTheNewFailureHidesItNeither) {
  const Finding beside = failure("m/p", "TestFlake");

  EXPECT_EQ(
      concluded(but_for(GetParam(), all({beside})), but_for(0, all({kNew}), all({kNew}))).verdict,
      Verdict::regressed);
}

TEST_P(FlakyBefore, ThatDoesNotBuildOnceHidesNothing) {
  const Finding build =
      of_kind(failure("m/p", "", "undefined: X"), FindingKind::build_failure, "build");

  EXPECT_EQ(
      concluded(but_for(GetParam(), all({build})), but_for(0, all({kNew}), all({kNew}))).verdict,
      Verdict::regressed);
  // The failure that was there before, if only once, is not new.
  EXPECT_EQ(
      concluded(but_for(GetParam(), all({build})), but_for(0, all({build}), all({build, kNew})))
          .verdict,
      GetParam() == 0 ? Verdict::broken_before : Verdict::flaky);
}

TEST_P(FlakyBefore, WithTheSameFlakeAfterwardsIsFlaky) {
  for (const std::size_t where : {1U, 2U, 3U}) {
    const Verdict verdict =
        concluded(but_for(GetParam(), all({kFlake})), but_for(where, all({kFlake}))).verdict;
    EXPECT_EQ(verdict, GetParam() == 0 ? Verdict::flaky : Verdict::compatible) << where;
  }
}

TEST_P(FlakyBefore, FailureThatIsThereInEveryAfterRunIsNotNew) {
  const std::vector<TaskResult> after = but_for(0, all({kFlake, kNew}), all({kFlake}));

  const Verdict verdict = concluded(but_for(GetParam(), all({kFlake})), after).verdict;

  // With both sides red at first and nothing else that stays there is nothing to compare.
  EXPECT_EQ(verdict, GetParam() == 0 ? Verdict::broken_before : Verdict::flaky);
}

TEST_P(FlakyBefore, DoesNotHideAFailureBesideItself) {
  const Conclusion found = concluded(but_for(GetParam(), all({kFlake})),
                                     but_for(0, all({kFlake, kNew}), all({kFlake, kNew})));

  EXPECT_EQ(found.verdict, Verdict::regressed);
  EXPECT_TRUE(found.message.starts_with("test_failure m/p TestNew: broken")) << found.message;
}

TEST_P(FlakyBefore, DoesNotHideAPackageThatFailsWithOtherTestsEachTime) {
  const std::vector<TaskResult> after = {
      all({failure("m/p", "TestA")}), all({failure("m/p", "TestB")}),
      all({failure("m/p", "TestC")}), all({failure("m/p", "TestD")})};

  EXPECT_EQ(concluded(but_for(GetParam(), all({kFlake})), after).verdict, Verdict::regressed);
  // Had the package failed before, if only once, that would prove nothing.
  EXPECT_EQ(concluded(but_for(GetParam(), all({failure("m/p", "TestE")})), after).verdict,
            Verdict::flaky);
}

INSTANTIATE_TEST_SUITE_P(InRun, FlakyBefore, ::testing::Values(0, 1, 2, 3));

TEST(FlakyBefore, OtherFlakesOnEachSideAreFlaky) {
  EXPECT_EQ(concluded(but_for(0, all({kFlake})), but_for(0, all({kNew}))).verdict, Verdict::flaky);
  EXPECT_EQ(concluded(but_for(0, all({kFlake})), but_for(0, all({kFlake, kNew}))).verdict,
            Verdict::flaky);
}

TEST(FlakyBefore, BesideAStableFailureLeavesTheSideRed) {
  const Finding old = failure("m/old", "TestOld");
  const std::vector<TaskResult> after(4, all({old, kNew}));

  const Conclusion found = concluded(but_for(0, all({old, kFlake}), all({old})), after);

  EXPECT_EQ(found.verdict, Verdict::changed_failure);
  EXPECT_EQ(found.fault, Fault::change);
}

TEST(FlakyBefore, ANewFailureThatComesAndGoesIsFlaky) {
  const std::vector<TaskResult> after = {all({kNew}), all({kNew}), result(), all({kNew})};

  EXPECT_EQ(concluded(but_for(0, all({kFlake})), after).verdict, Verdict::flaky);
}

TEST(FlakyBefore, FailuresThatMoveBetweenPackagesAreFlakes) {
  const std::vector<TaskResult> before = {
      all({failure("m/a", "TestA")}), all({failure("m/b", "TestB")}),
      all({failure("m/a", "TestA")}), all({failure("m/c", "TestC")})};
  const std::vector<TaskResult> after(4, all({kNew}));

  const Conclusion found = concluded(before, after);

  EXPECT_EQ(found.verdict, Verdict::regressed);
  EXPECT_TRUE(
      found.message.ends_with("; set aside: m/a TestA (failed in 2 of 4 runs before), m/b "
                              "TestB (failed in 1 of 4 runs before), m/c TestC (failed in "
                              "1 of 4 runs before)"))
      << found.message;
}

TEST(FlakyBefore, APackageThatFailsUnderAnotherNameEachTimeIsRed) {
  const std::vector<TaskResult> before = {
      all({failure("m/a", "TestA/1")}), all({failure("m/a", "TestA/2")}),
      all({failure("m/a", "TestA/3")}), all({failure("m/a", "TestA/4")})};
  const std::vector<TaskResult> after(4, all({kNew}));

  EXPECT_EQ(concluded(before, after).verdict, Verdict::changed_failure);
}

TEST(FlakyBefore, AFailureThatMovedForGoodIsAChangedFailure) {
  const std::vector<TaskResult> before(4, all({failure("m/p", "TestOld")}));
  const std::vector<TaskResult> after(4, all({kNew}));

  EXPECT_EQ(concluded(before, after).verdict, Verdict::changed_failure);
}

TEST(FlakyBefore, MoreOfAFailureThatWasThereOnceIsNotNew) {
  const Finding once = vet("a.go", "odd");
  const std::vector<TaskResult> after(4, all({once, once}));

  EXPECT_EQ(concluded(but_for(0, all({once})), after).verdict, Verdict::flaky);
  EXPECT_EQ(concluded(but_for(2, all({once})), after).verdict, Verdict::flaky);
  EXPECT_EQ(concluded(std::vector<TaskResult>(4, all({once})), after).verdict,
            Verdict::changed_failure);
}

TEST(FlakyBefore, RunsThatHidWhatIsNewProveNothing) {
  const TaskResult broken =
      all({of_kind(failure("m/dep", "", "undefined: X"), FindingKind::build_failure, "build")});
  const std::vector<TaskResult> after(4, all({kNew}));

  // What imports m/dep wasn't tested, and isn't known.
  EXPECT_EQ(concluded({broken, broken, result(), result()}, after).verdict, Verdict::flaky);
  EXPECT_EQ(concluded({result(), broken, result(), broken}, after).verdict, Verdict::flaky);
  EXPECT_EQ(concluded({result(), broken, result(), broken}, after).message,
            "failed in 2 of 4 runs before and 4 of 4 runs after; it may have been there before: "
            "test_failure m/p TestNew: broken");
  EXPECT_EQ(concluded({broken, broken, broken, broken}, after).verdict, Verdict::changed_failure);
}

TEST(FlakyBefore, AFailureOfNoPackageHidesAll) {
  Finding lost = failure("", "");
  lost.kind = FindingKind::setup_failure;
  lost.key = "build||lost";
  const std::vector<TaskResult> after(4, all({kNew}));

  EXPECT_EQ(concluded(but_for(0, all({lost})), after).verdict, Verdict::regressed);
  EXPECT_EQ(concluded({all({lost}), all({lost}), result(), result()}, after).verdict,
            Verdict::flaky);
}

TEST(FlakyBefore, AFailureWithoutAFindingIsNoFlake) {
  TaskResult unexplained = result();
  unexplained.outcome = Outcome::failing;
  const std::vector<TaskResult> after(4, all({kNew}));

  EXPECT_EQ(concluded({unexplained, unexplained, unexplained, unexplained}, after).verdict,
            Verdict::changed_failure);
}

TEST(FlakyBefore, AnInferredFailureMayBeAnyOfItsPackage) {
  Finding inferred = failure("m/p", "TestGuess");
  inferred.inferred = true;
  const std::vector<TaskResult> after(4, all({kNew}));
  const std::vector<TaskResult> guesses(4, all({inferred}));

  EXPECT_EQ(concluded(but_for(2, all({inferred})), after).verdict, Verdict::flaky);
  EXPECT_EQ(concluded(but_for(2, all({failure("m/p", "TestOld")})), guesses).verdict,
            Verdict::flaky);
  EXPECT_EQ(concluded(but_for(2, all({failure("m/q", "TestOld")})), guesses).verdict,
            Verdict::regressed);
}

TEST(FlakyBefore, NamesThreeFlakesAndCountsTheOthers) {
  std::vector<Finding> many;
  for (const char* name : {"TestA", "TestB", "TestC", "TestD", "TestE"}) {
    many.push_back(failure("m/f", name));
  }
  const std::vector<TaskResult> after(4, all({kNew}));

  const Conclusion found = concluded(but_for(1, all(many)), after);

  EXPECT_EQ(found.verdict, Verdict::regressed);
  EXPECT_TRUE(found.message.ends_with("m/f TestC (failed in 1 of 4 runs before), and 2 more"))
      << found.message;
}

TEST(FlakyAfter, HidesGoodNewsWhereverItFails) {
  const std::vector<TaskResult> before(4, all({failure("m/p", "TestOld")}));

  for (const std::size_t where : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(concluded(before, but_for(where, all({kFlake}))).verdict, Verdict::flaky) << where;
  }
}

}  // namespace
}  // namespace cupel::coordinator::compare
