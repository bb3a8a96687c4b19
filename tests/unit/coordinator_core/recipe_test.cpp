#include "coordinator/core/recipe.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cupel::coordinator::planner {
namespace {

UnitInfo recipe_unit(bool vendored = false) {
  UnitInfo info;
  info.dir = ".";
  info.module_path = "example.com/a";
  info.go_version = "1.24";
  info.vendored = vendored;
  return info;
}

Question upgrade() {
  Question question;
  Upgrade change;
  change.modules = {{"example.com/lib", "latest"}};
  question.change = change;
  question.confirm = {1, 1};
  return question;
}

TaskResult recipe_result(Outcome outcome, Reason reason = Reason::none) {
  static std::uint64_t number = 0;
  TaskResult answer;
  answer.task = TaskId{++number};
  answer.outcome = outcome;
  answer.reason = reason;
  answer.message = "first cause";
  if (outcome == Outcome::failing) {
    Finding finding;
    finding.kind = FindingKind::test_failure;
    finding.package = "example.com/a";
    finding.test = "TestA";
    finding.key = "test|example.com/a|TestA";
    answer.findings.push_back(finding);
  }
  return answer;
}

TaskResult changed(NotAffected not_affected = NotAffected::none) {
  TaskResult answer = recipe_result(Outcome::passing);
  answer.change = ChangeFacts{};
  answer.change->tree = "tree-after";
  answer.change->not_affected = not_affected;
  answer.change->resolved = {{"example.com/lib", "v1.2.0"}};
  answer.change->go_before = "1.24";
  answer.change->go_after = "1.26";
  if (not_affected == NotAffected::none) answer.change->patch_bytes = 9;
  return answer;
}

/// Walks a recipe: what each task answers decides what comes next.
class Walk {
 public:
  explicit Walk(Question question, UnitInfo info = recipe_unit())
      : question_(std::move(question)), info_(std::move(info)) {}

  UnitPlan plan() const { return plan_next(question_, info_, "abc", progress_); }
  Step step() const {
    const UnitPlan next = plan();
    const auto* task = std::get_if<NextTask>(&next);
    EXPECT_NE(task, nullptr) << "the unit is judged";
    return task == nullptr ? Step{} : task->step;
  }
  Work work() const { return std::get<NextTask>(plan()).work; }
  Judgement judgement() const {
    const UnitPlan next = plan();
    const auto* judged = std::get_if<Judgement>(&next);
    EXPECT_NE(judged, nullptr) << "the unit is not judged";
    return judged == nullptr ? Judgement{} : *judged;
  }
  void answer(const TaskResult& given) { record(progress_, question_, step(), given); }
  void answer_as(Step step, const TaskResult& given) { record(progress_, question_, step, given); }
  Progress& progress() { return progress_; }

 private:
  Question question_;
  UnitInfo info_;
  Progress progress_;
};

TEST(UpgradeRecipe, RunsBothSidesAroundTheChange) {
  Walk walk(upgrade());

  EXPECT_EQ(walk.step(), (Step{Stage::modules}));
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(walk.step(), (Step{Stage::execute_before}));
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(walk.step(), (Step{Stage::mutate}));
  walk.answer(changed());
  EXPECT_EQ(walk.step(), (Step{Stage::modules_after}));
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(walk.step(), (Step{Stage::execute_after}));
  EXPECT_EQ(std::get<Execute>(walk.work()).side, Side::after);
  EXPECT_EQ(std::get<Execute>(walk.work()).unit.go_version, "1.26");
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(walk.judgement().verdict, Verdict::compatible);
}

TEST(UpgradeRecipe, ADifferenceIsRepeatedOnBothSidesBeforeItIsBelieved) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(changed());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::failing));

  EXPECT_EQ(walk.step(), (Step{Stage::execute_after, 1}));
  EXPECT_EQ(std::get<Execute>(walk.work()).repeat, 1);
  walk.answer(recipe_result(Outcome::failing));
  EXPECT_EQ(walk.step(), (Step{Stage::execute_before, 1}));
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(walk.judgement().verdict, Verdict::regressed);
}

TEST(UpgradeRecipe, AFailingBeforeSideDoesNotStopTheComparison) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::failing));

  EXPECT_EQ(walk.step(), (Step{Stage::mutate}));
}

TEST(UpgradeRecipe, AnInconclusiveBeforeSideEndsIt) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::inconclusive, Reason::timeout));

  EXPECT_EQ(walk.judgement().verdict, Verdict::inconclusive);
  EXPECT_EQ(walk.judgement().reason, Reason::timeout);
}

TEST(UpgradeRecipe, NotAffectedEndsBeforeTheAfterSide) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(changed(NotAffected::module_absent));

  EXPECT_EQ(walk.judgement().verdict, Verdict::not_affected);
  EXPECT_EQ(walk.judgement().message, "module_absent");
}

TEST(UpgradeRecipe, NotAffectedWithAChangedTreeIsRunAllTheSame) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  TaskResult tidied = changed(NotAffected::not_used);
  tidied.change->patch_bytes = 5;
  walk.answer(tidied);

  EXPECT_EQ(walk.step(), (Step{Stage::modules_after}));
}

TEST(UpgradeRecipe, AChangeThatCantBeAppliedIsRefused) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::refused, Reason::upgrade_not_applicable));

  EXPECT_EQ(walk.judgement().verdict, Verdict::refused);
  EXPECT_EQ(walk.judgement().reason, Reason::upgrade_not_applicable);
}

TEST(UpgradeRecipe, AVendoredUnitAcquiresNoModulesOnEitherSide) {
  Walk walk(upgrade(), recipe_unit(true));

  EXPECT_EQ(walk.step(), (Step{Stage::execute_before}));
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(changed());
  EXPECT_EQ(walk.step(), (Step{Stage::execute_after}));
}

TEST(UpgradeRecipe, WhatIsMadeAgainAppliesTheVersionsThatWereFound) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(changed());

  const Work again = work_of({Stage::mutate}, upgrade(), recipe_unit(), "abc", &walk.progress());

  EXPECT_EQ(std::get<Mutate>(again).resolved,
            (std::vector<ModuleTarget>{{"example.com/lib", "v1.2.0"}}));
}

TEST(UpgradeRecipe, AnotherTreeTheSecondTimeIsNoAnswer) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(changed());
  TaskResult other = changed();
  other.change->tree = "another";
  walk.answer_as({Stage::mutate}, other);

  EXPECT_EQ(walk.judgement().verdict, Verdict::inconclusive);
  EXPECT_EQ(walk.judgement().fault, Fault::fleet);
}

TEST(UpgradeRecipe, TheSampleRunsItsUnchangedSideOnceMore) {
  Walk walk(upgrade());
  walk.progress().sample = true;
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));

  EXPECT_EQ(walk.step(), (Step{Stage::execute_before, 1}));
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(walk.step(), (Step{Stage::mutate}));
}

TEST(UpgradeRecipe, WithoutABaselineTheAfterSideIsTheVerdict) {
  Question question = upgrade();
  question.baseline = campaign::Baseline::off;
  Walk walk(question);
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(changed());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::failing));

  EXPECT_EQ(walk.judgement().verdict, Verdict::failing);
  EXPECT_EQ(walk.judgement().fault, Fault::change);
}

TEST(CulpritSearch, ARegressionOfSeveralModulesIsTakenApart) {
  constexpr std::size_t kModules = 8;
  const std::string culprit = "example.com/m5";
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  TaskResult change = changed();
  change.change->resolved.clear();
  for (std::size_t i = 0; i < kModules; ++i) {
    change.change->resolved.push_back({"example.com/m" + std::to_string(i), "v1.1.0"});
  }
  walk.answer(change);
  walk.answer(recipe_result(Outcome::passing));
  for (int run = 0; run < 2; ++run) walk.answer(recipe_result(Outcome::failing));
  walk.answer(recipe_result(Outcome::passing));  // the before side's repeat

  std::size_t probes = 0;
  std::vector<ModuleTarget> asked;
  while (std::holds_alternative<NextTask>(walk.plan())) {
    const Step step = walk.step();
    ASSERT_EQ(step.variant, probes + 1);
    if (step.stage == Stage::mutate) {
      const auto mutate = std::get<Mutate>(walk.work());
      asked = std::get<Upgrade>(mutate.change).modules;
      EXPECT_EQ(mutate.resolved, asked);
      walk.answer(changed());
    } else if (step.stage == Stage::modules_after) {
      walk.answer(recipe_result(Outcome::passing));
    } else {
      ++probes;
      const bool breaks = std::ranges::find(asked, culprit, &ModuleTarget::module) != asked.end();
      walk.answer(recipe_result(breaks ? Outcome::failing : Outcome::passing));
      // A restart in between changes nothing.
      walk.progress() = progress_from_text(progress_text(walk.progress()));
    }
    ASSERT_LE(probes, kProbesMax);
  }

  EXPECT_EQ(walk.judgement().verdict, Verdict::regressed);
  EXPECT_TRUE(walk.judgement().message.ends_with("(by example.com/m5@v1.1.0)"))
      << walk.judgement().message;
  const auto found = culprit_of(upgrade(), recipe_unit(), walk.progress());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->modules, (std::vector<ModuleTarget>{{culprit, "v1.1.0"}}));
  EXPECT_EQ(found->probes, probes);
  EXPECT_TRUE(found->minimal);
  RecordProperty("probes", static_cast<int>(probes));
}

TEST(CulpritSearch, PartsThatCantBeAppliedLeaveTheWholeAsTheAnswer) {
  Walk walk(upgrade());
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));
  TaskResult change = changed();
  change.change->resolved = {{"a.b/c", "v1.0.0"}, {"a.b/d", "v1.0.0"}};
  walk.answer(change);
  walk.answer(recipe_result(Outcome::passing));
  for (int run = 0; run < 2; ++run) walk.answer(recipe_result(Outcome::failing));
  walk.answer(recipe_result(Outcome::passing));
  for (int probe = 0; probe < 2; ++probe) {
    ASSERT_EQ(walk.step().stage, Stage::mutate);
    walk.answer(recipe_result(Outcome::refused, Reason::upgrade_not_applicable));
  }

  EXPECT_EQ(walk.judgement().verdict, Verdict::regressed);
  EXPECT_EQ(culprit_of(upgrade(), recipe_unit(), walk.progress())->modules.size(), 2U);
}

TEST(GoRecipe, AnotherImageRunsTheSameSnapshotWhenTheGoLineIsKept) {
  Question question;
  question.change = GoVersionChange{"1.26", false};
  Walk walk(question);
  walk.answer(recipe_result(Outcome::passing));
  EXPECT_EQ(std::get<Execute>(walk.work()).image, "");
  walk.answer(recipe_result(Outcome::passing));

  EXPECT_EQ(walk.step(), (Step{Stage::execute_after}));
  EXPECT_EQ(std::get<Execute>(walk.work()).image, "1.26");
  EXPECT_EQ(std::get<Execute>(walk.work()).side, Side::before);
}

TEST(GoRecipe, ARaisedGoLineIsAChangeOfTheTree) {
  Question question;
  question.change = GoVersionChange{"1.26", true};
  Walk walk(question);
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::passing));

  EXPECT_EQ(walk.step(), (Step{Stage::mutate}));
}

TEST(GoRecipe, ARaisedGoLineIsFetchedAndLookedAtByTheNewToolchain) {
  Question question;
  question.change = GoVersionChange{"1.26", true};
  const UnitInfo unit = recipe_unit();
  const auto image = [&](Step step) {
    return image_for(question, work_of(step, question, unit, "c", nullptr));
  };

  EXPECT_EQ(image({Stage::modules_after}), "1.26");
  EXPECT_EQ(image({Stage::readiness}), "1.26");
  // Those name it themselves, or are about the before side.
  EXPECT_EQ(image({Stage::mutate}), "");
  EXPECT_EQ(image({Stage::execute_after}), "");
  EXPECT_EQ(image({Stage::modules}), "");
  question.change = Upgrade{};
  EXPECT_EQ(image({Stage::modules_after}), "") << "the campaign's own";
}

TEST(Needs, AreMadeInOrder) {
  const auto steps = [](Step step, bool vendored) {
    const Needs found = needs(step, upgrade(), vendored);
    return std::vector<Step>(found.begin(), found.end());
  };

  EXPECT_TRUE(steps({Stage::modules}, false).empty());
  EXPECT_EQ(steps({Stage::mutate}, false), (std::vector<Step>{{Stage::modules}}));
  EXPECT_EQ(steps({Stage::execute_after, 2}, false),
            (std::vector<Step>{{Stage::modules}, {Stage::mutate}, {Stage::modules_after}}));
  EXPECT_EQ(steps({Stage::execute_after}, true), (std::vector<Step>{{Stage::mutate}}));
}

TEST(StepNumber, RoundTripsAndAnUnknownOneIsTheFirst) {
  const Step step{Stage::execute_after, 3, 700};

  EXPECT_EQ(Step::unpacked(step.packed()), step);
  EXPECT_EQ(Step::unpacked(0xFFU), Step{});
}

TEST(ProgressText, RoundTrips) {
  Walk walk(upgrade());
  walk.progress().sample = true;
  walk.answer(recipe_result(Outcome::passing));
  walk.answer(recipe_result(Outcome::failing));
  walk.answer(recipe_result(Outcome::failing));
  walk.answer(changed());

  const Progress again = progress_from_text(progress_text(walk.progress()));

  EXPECT_EQ(again.book, walk.progress().book);
  EXPECT_TRUE(again.sample);
  EXPECT_TRUE(again.modules_done);
  EXPECT_FALSE(again.modules_after_done);
}

TEST(ProgressText, WhatCantBeReadStartsOver) {
  EXPECT_EQ(progress_from_text("{oops").book, compare::Book{});
}

}  // namespace
}  // namespace cupel::coordinator::planner
