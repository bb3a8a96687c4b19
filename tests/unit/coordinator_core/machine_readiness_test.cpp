// The last look at an after side before its patch is ready.
#include "tests/unit/coordinator_core/machine_change_fixture.hpp"

namespace cupel::coordinator {
namespace {

class MachineReadinessTest : public MachineChangeTest {
 protected:
  /// Both sides pass: only the last look is open.
  void to_the_last_look() {
    submit_upgrade();
    acquire();
    answer(executed(Outcome::passing));
    change();
    answer(executed(Outcome::passing));
    ASSERT_TRUE(written<UnitFinished>().empty());
    ASSERT_TRUE(looks_at_patch());
  }
  nlohmann::json patch() const { return compared().at("patch"); }
  void expect_withheld(const nlohmann::json& codes) {
    ASSERT_EQ(written<UnitFinished>().size(), 1U);
    EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::compatible);
    EXPECT_EQ(patch(), nlohmann::json({{"state", "withheld"}, {"codes", codes}}));
  }
};

TEST_F(MachineReadinessTest, APatchIsReadyOnceItsAfterSideWasLookedAt) {
  to_the_last_look();
  EXPECT_EQ(std::get<Mutate>(lease().spec.work).resolved,
            (std::vector<ModuleTarget>{{"example.com/lib", "v1.2.0"}}));
  answer(looked_at());

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(patch(), nlohmann::json({{"state", "ready"}, {"codes", nlohmann::json::array()}}));
  EXPECT_EQ(compared().at("readiness").at("conclusive"), true);
}

TEST_F(MachineReadinessTest, WhatItFindsWithholdsThePatchAndLeavesTheVerdict) {
  to_the_last_look();
  TaskResult found = looked_at();
  found.change->gates = {{Gate::verify_failed, "go mod verify: a: dir has been modified"}};
  answer(std::move(found));

  expect_withheld({"readiness_failed", "verify_failed"});
}

TEST_F(MachineReadinessTest, AnAfterSideThatIsNotWhatThePatchMakesWithholdsIt) {
  to_the_last_look();
  TaskResult found = looked_at();
  found.change->patch = sha256("another");
  answer(std::move(found));

  expect_withheld({"readiness_failed", "candidate_tree_mismatch"});
}

TEST_F(MachineReadinessTest, AnotherTreeThanTheChangeMadeWithholdsIt) {
  to_the_last_look();
  TaskResult found = looked_at();
  found.change->tree = "another";
  answer(std::move(found));

  expect_withheld({"readiness_failed", "candidate_tree_mismatch"});
}

TEST_F(MachineReadinessTest, WithoutAnAnswerThePatchIsWithheld) {
  to_the_last_look();
  TaskResult none = passing(lease());
  none.outcome = Outcome::inconclusive;
  none.reason = Reason::resource_disk;
  none.message = "no space left in the sandbox";
  answer(std::move(none));

  expect_withheld(nlohmann::json::array({"readiness_inconclusive"}));
  EXPECT_EQ(compared().at("readiness").at("message"), "no space left in the sandbox");
}

TEST_F(MachineReadinessTest, WhenItsWorkerIsLostTooOftenTheVerdictStands) {
  to_the_last_look();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(looks_at_patch());
    TaskResult interrupted = passing(lease());
    interrupted.ending = Ending::interrupted;
    interrupted.reason = Reason::lease_lost;
    answer(std::move(interrupted));
    pass(std::chrono::minutes(6));
    heartbeat("k1");
    step(Tick{});
  }

  expect_withheld(nlohmann::json::array({"readiness_inconclusive"}));
}

TEST_F(MachineReadinessTest, APatchThatAGateHoldsBackIsNotLookedAt) {
  submit_upgrade();
  acquire();
  answer(executed(Outcome::passing));
  TaskResult mutated = passing(lease());
  mutated.change = ChangeFacts{};
  mutated.change->tree = "tree-after";
  mutated.change->patch = sha256("patch");
  mutated.change->patch_bytes = 9;
  mutated.change->gates = {{Gate::not_tidy, "x"}};
  answer(std::move(mutated));
  answer(passing(lease()));
  answer(executed(Outcome::passing));

  expect_withheld(nlohmann::json::array({"not_tidy"}));
}

}  // namespace
}  // namespace cupel::coordinator
