#include "coordinator/core/planner.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator::planner {
namespace {

UnitInfo unit(bool vendored = false) {
  UnitInfo info;
  info.dir = ".";
  info.module_path = "example.com/a";
  info.vendored = vendored;
  return info;
}

TaskResult result(Outcome outcome, Reason reason = Reason::none) {
  TaskResult answer;
  answer.outcome = outcome;
  answer.reason = reason;
  answer.message = "first cause";
  return answer;
}

TEST(PlanUnit, AcquiresModulesFirst) {
  const UnitPlan plan = plan_unit(unit(), "abc");

  const auto& next = std::get<NextTask>(plan);
  EXPECT_EQ(next.kind, TaskKind::acquire);
  EXPECT_EQ(std::get<AcquireModules>(next.work).commit, "abc");
}

TEST(PlanUnit, ExecutesAVendoredUnitAtOnce) {
  const UnitPlan plan = plan_unit(unit(true), "abc");

  EXPECT_EQ(std::get<Execute>(std::get<NextTask>(plan).work).side, Side::before);
}

TEST(PlanUnit, JudgesWhatAcquireHasRefusedAlready) {
  UnitInfo refused = unit();
  refused.outcome = Outcome::refused;
  refused.reason = Reason::manifest_is_symlink;

  const auto judgement = std::get<Judgement>(plan_unit(refused, "abc"));

  EXPECT_EQ(judgement.verdict, Verdict::refused);
  EXPECT_EQ(judgement.reason, Reason::manifest_is_symlink);
  EXPECT_EQ(judgement.fault, Fault::repository);
}

TEST(PlanAfter, ExecutesWhenTheModulesAreThere) {
  const UnitPlan plan = plan_after(Stage::modules, unit(), "abc", result(Outcome::passing));

  EXPECT_EQ(std::get<NextTask>(plan).kind, TaskKind::execute);
}

TEST(PlanAfter, EndsWithTheAcquisitionsReasonWhenThatFailed) {
  const auto judgement = std::get<Judgement>(plan_after(
      Stage::modules, unit(), "abc", result(Outcome::inconclusive, Reason::module_not_found)));

  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_EQ(judgement.reason, Reason::module_not_found);
  EXPECT_EQ(judgement.fault, Fault::upstream);
}

TEST(PlanAfter, MakesTheLastStagesOutcomeTheVerdict) {
  const auto judgement = std::get<Judgement>(
      plan_after(Stage::execute_before, unit(), "abc", result(Outcome::failing)));

  EXPECT_EQ(judgement.verdict, Verdict::failing);
  EXPECT_EQ(judgement.fault, Fault::repository);
  EXPECT_EQ(judgement.message, "first cause");
}

TEST(PlanSource, GivesOneUnitWithTheVerdictWhenTheRepositoryIsRefused) {
  const SourcePlan plan = plan_source(result(Outcome::refused, Reason::ref_not_found));

  EXPECT_FALSE(plan.pinned);
  ASSERT_EQ(plan.units.size(), 1U);
  EXPECT_EQ(std::get<Judgement>(plan.units[0].plan).reason, Reason::ref_not_found);
  EXPECT_EQ(plan.units[0].info.outcome, Outcome::refused);
}

TEST(PlanSource, RefusesARepositoryWithoutModules) {
  TaskResult answer = result(Outcome::passing);
  answer.source = SourceFacts{.commit = "c", .tree = "t", .files = 1, .bytes = 1, .units = {}};

  const SourcePlan plan = plan_source(answer);

  ASSERT_EQ(plan.units.size(), 1U);
  EXPECT_EQ(std::get<Judgement>(plan.units[0].plan).reason, Reason::no_go_mod);
}

TEST(PlanSource, TheTimeOfTheCommitGoesWithThePin) {
  TaskResult answer = result(Outcome::passing);
  answer.source = SourceFacts{.commit = "c", .tree = "t", .files = 1, .bytes = 1, .units = {}};
  answer.source->committed = {1'234'567};

  EXPECT_EQ(plan_source(answer).committed.us, 1'234'567);
}

TEST(PlanSource, TakesAtMostTwoHundredUnits) {
  TaskResult answer = result(Outcome::passing);
  answer.source = SourceFacts{.commit = "c", .tree = "t", .files = 1, .bytes = 1, .units = {}};
  answer.source->units.resize(300, unit());

  EXPECT_EQ(plan_source(answer).units.size(), 200U);
}

TEST(Decide, RetriesATimeoutUntilTheChargedBudgetIsSpent) {
  const TaskResult timeout = result(Outcome::inconclusive, Reason::timeout);

  const Decision first = decide(timeout, {0, 0}, {3, 1});
  const Decision second = decide(timeout, first.spent, {3, 1});

  EXPECT_EQ(first.fate, Fate::retry);
  EXPECT_EQ(first.spent.charged, 1);
  EXPECT_EQ(first.spent.interruptions, 0);
  EXPECT_EQ(second.fate, Fate::accept_dead);
}

TEST(Decide, AcceptsATimeoutAtOnceWithoutABudget) {
  EXPECT_EQ(decide(result(Outcome::inconclusive, Reason::timeout), {0, 0}, {3, 0}).fate,
            Fate::accept);
}

TEST(Decide, AsksAFailingUpstreamAgainWithoutChargingTheTask) {
  const TaskResult upstream = result(Outcome::inconclusive, Reason::upstream);

  const Decision first = decide(upstream, {1, 0}, {2, 1});
  const Decision second = decide(upstream, first.spent, {2, 1});

  EXPECT_EQ(first.fate, Fate::retry);
  EXPECT_EQ(first.spent.interruptions, 2);
  EXPECT_EQ(first.spent.charged, 0);
  EXPECT_EQ(second.fate, Fate::accept_dead);
  EXPECT_EQ(decide(upstream, {0, 0}, {0, 1}).fate, Fate::accept);
}

TEST(Decide, AsksForNoOtherAnswerTwice) {
  for (std::size_t i = 1; i < count_of<Reason>(); ++i) {
    const auto reason = static_cast<Reason>(i);
    if (reason == Reason::timeout || reason == Reason::upstream) continue;
    EXPECT_EQ(decide(result(class_of(reason), reason), {0, 0}, {3, 1}).fate, Fate::accept)
        << name(reason);
  }
  EXPECT_EQ(decide(result(Outcome::failing), {0, 0}, {3, 1}).fate, Fate::accept);
}

TEST(Decide, NeverChargesAnInterruption) {
  TaskResult interrupted = result(Outcome::inconclusive, Reason::engine);
  interrupted.ending = Ending::interrupted;

  const Decision decision = decide(interrupted, {1, 0}, {3, 1});

  EXPECT_EQ(decision.fate, Fate::retry);
  EXPECT_EQ(decision.spent.charged, 0);
  EXPECT_EQ(decision.spent.interruptions, 2);
}

TEST(Decide, GivesUpWhenTheInterruptionBudgetIsSpent) {
  EXPECT_EQ(decide_interrupted({3, 0}, {3, 1}).fate, Fate::dead);
  EXPECT_EQ(decide_interrupted({0, 0}, {0, 1}).fate, Fate::dead);
}

TEST(IsComplete, MissesAPinInAPassingAcquisition) {
  const Work work = AcquireSource{};

  EXPECT_FALSE(is_complete(work, result(Outcome::passing)));
  EXPECT_TRUE(is_complete(work, result(Outcome::refused, Reason::ref_not_found)));
}

TEST(IsComplete, MissesAReasonOfTheRightClass) {
  const Work work = Execute{};

  EXPECT_FALSE(is_complete(work, result(Outcome::inconclusive)));
  EXPECT_FALSE(is_complete(work, result(Outcome::refused, Reason::timeout)));
  EXPECT_TRUE(is_complete(work, result(Outcome::failing)));
}

TEST(Recipe, EndsWithTheStageThatDecides) {
  const auto recipe = validate_recipe();

  ASSERT_FALSE(recipe.empty());
  EXPECT_EQ(recipe.back().kind, TaskKind::execute);
  for (const StageRule& rule : recipe) EXPECT_EQ(kind_of(rule.stage), rule.kind);
}

}  // namespace
}  // namespace cupel::coordinator::planner
