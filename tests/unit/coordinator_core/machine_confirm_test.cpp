// Repeats of a difference on another worker.
#include "tests/unit/coordinator_core/machine_change_fixture.hpp"

namespace cupel::coordinator {
namespace {

class MachineConfirmTest : public MachineChangeTest {
 protected:
  /// Both sides' first runs on k1: green before, red after. Then a second worker is there.
  void differ(const std::string& engine = "docker 20") {
    submit_upgrade();
    acquire();
    answer(executed(Outcome::passing));
    change();
    ASSERT_TRUE(runs(Side::after));
    ASSERT_EQ(worker(), "k1");
    join_with_image("k2", 2, engine);
    answer(executed(Outcome::failing));
  }
  /// What the other worker makes again before it can repeat the after side.
  void follow() {
    ASSERT_EQ(worker(), "k2");
    ASSERT_TRUE(std::holds_alternative<AcquireSource>(lease().spec.work));
    EXPECT_EQ(std::get<AcquireSource>(lease().spec.work).pinned_commit, "abc");
    answer(acquired(lease()));
    TaskResult modules = passing(lease());
    modules.modules = ModuleFacts{.tree = "tree-before"};
    answer(std::move(modules));
    ASSERT_TRUE(std::holds_alternative<Mutate>(lease().spec.work));
    change();
  }
};

TEST_F(MachineConfirmTest, ADifferenceIsRepeatedOnAnotherWorkerWhereThereIsOne) {
  differ();
  follow();
  ASSERT_TRUE(runs(Side::after));
  EXPECT_EQ(worker(), "k2");
  answer(executed(Outcome::failing));
  ASSERT_TRUE(runs(Side::before));
  EXPECT_EQ(worker(), "k2");
  answer(executed(Outcome::passing));

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::regressed);
  const auto body = compared();
  EXPECT_EQ(body["after"]["workers"], nlohmann::json({WorkerId{1}.text(), WorkerId{2}.text()}));
  EXPECT_EQ(body["before"]["workers"], nlohmann::json({WorkerId{1}.text(), WorkerId{2}.text()}));
  EXPECT_EQ(machine_.counters().repositories_moved, 1U);
}

TEST_F(MachineConfirmTest, WithOneWorkerItIsRepeatedThere) {
  submit_upgrade();
  acquire();
  answer(executed(Outcome::passing));
  change();
  answer(executed(Outcome::failing));

  ASSERT_TRUE(runs(Side::after));
  EXPECT_EQ(worker(), "k1");
  EXPECT_EQ(machine_.counters().repositories_moved, 0U);
}

TEST_F(MachineConfirmTest, AWorkerWithAnotherEngineCouldNotBeCompared) {
  differ("podman 5");

  ASSERT_TRUE(runs(Side::after));
  EXPECT_EQ(worker(), "k1");
}

TEST_F(MachineConfirmTest, WhatTurnsOutToBeUnlikeIsRepeatedWhereItWasFirstSeen) {
  differ();
  follow();
  TaskResult unlike = executed(Outcome::failing);
  unlike.evidence.proxy_mode = "fixture";
  answer(std::move(unlike));

  EXPECT_EQ(worker(), "k1");
  ASSERT_TRUE(std::holds_alternative<AcquireSource>(lease().spec.work));
  EXPECT_EQ(machine_.counters().repositories_moved, 2U);
}

TEST_F(MachineConfirmTest, WhatCantBeHadThereIsRepeatedWhereItWas) {
  differ();
  ASSERT_EQ(worker(), "k2");
  TaskResult refused = passing(lease());
  refused.outcome = Outcome::refused;
  refused.reason = Reason::repository_not_found;
  answer(std::move(refused));

  ASSERT_TRUE(written<UnitFinished>().empty());
  EXPECT_EQ(worker(), "k1");
  ASSERT_TRUE(std::holds_alternative<AcquireSource>(lease().spec.work));
  answer(acquired(lease()));
  EXPECT_TRUE(std::holds_alternative<AcquireModules>(lease().spec.work));
}

TEST_F(MachineConfirmTest, AnAcquisitionForAWorkerThatIsGoneGoesToAny) {
  submit_upgrade();
  acquire();
  answer(executed(Outcome::passing));
  change();
  join_with_image("k2", 2);
  // Its one slot is taken, so that the acquisition waits for it.
  step_uncommitted(MessageReceived{"k1", "k1-route", ResultMessage{executed(Outcome::failing)}});
  from("k2", Goodbye{});
  commit();
  pass(std::chrono::minutes(3));
  heartbeat("k1");
  step(Tick{});

  EXPECT_EQ(worker(), "k1");
  EXPECT_TRUE(std::holds_alternative<AcquireSource>(lease().spec.work));
}

}  // namespace
}  // namespace cupel::coordinator
