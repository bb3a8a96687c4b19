// Before sides that a campaign takes over from an earlier one.
#include "tests/unit/coordinator_core/machine_change_fixture.hpp"

namespace cupel::coordinator {
namespace {

class MachineBaselineTest : public MachineChangeTest {
 protected:
  nlohmann::json baseline_of_last() const { return compared().at("baseline"); }
};

TEST_F(MachineBaselineTest, ASecondCampaignTakesTheBeforeSideOfTheFirst) {
  first_campaign();
  EXPECT_EQ(baseline_of_last()["reused"], false);
  const auto kept = written<BaselineKept>();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].expires.us - kept[0].at.us, 7LL * 24 * 3600 * 1'000'000);

  submit_upgrade();
  acquire();

  ASSERT_TRUE(std::holds_alternative<Mutate>(lease().spec.work)) << "no run of the before side";
  change();
  ASSERT_TRUE(runs(Side::after));
  answer(executed(Outcome::passing));
  answer(looked_at());
  ASSERT_EQ(written<UnitFinished>().size(), 2U);
  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::compatible);
  const auto evidence = baseline_of_last();
  EXPECT_EQ(evidence["reused"], true);
  EXPECT_EQ(evidence["campaign"], kept[0].campaign.text());
  EXPECT_EQ(evidence["unit"], kept[0].unit.text());
  EXPECT_EQ(machine_.counters().baselines_reused, 1U);
  EXPECT_EQ(written<BaselineKept>().size(), 1U) << "it ages from when it was run";
}

TEST_F(MachineBaselineTest, ADifferenceFromAStoredBeforeSideIsRepeatedOnBothSides) {
  first_campaign();
  submit_upgrade();
  acquire();
  change();
  answer(executed(Outcome::failing));

  ASSERT_TRUE(runs(Side::after));
  answer(executed(Outcome::failing));
  ASSERT_TRUE(runs(Side::before));
  answer(executed(Outcome::passing));

  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::regressed);
}

TEST_F(MachineBaselineTest, AStoredBeforeSideThatARepeatContradictsIsDropped) {
  first_campaign();
  submit_upgrade();
  acquire();
  change();
  answer(executed(Outcome::failing));
  answer(executed(Outcome::failing));
  ASSERT_TRUE(runs(Side::before));
  answer(executed(Outcome::failing));

  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::flaky);
  ASSERT_EQ(written<BaselineDropped>().size(), 1U);
  EXPECT_TRUE(baselines_.empty());
}

TEST_F(MachineBaselineTest, UnderOtherConditionsTheBeforeSideIsRunAfterAll) {
  first_campaign();
  submit_upgrade();
  acquire();
  change();
  answer(executed(Outcome::passing, "docker 25"));

  ASSERT_TRUE(runs(Side::before));
  answer(executed(Outcome::passing, "docker 25"));
  answer(looked_at());

  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::compatible);
  EXPECT_EQ(baseline_of_last()["reused"], false);
  EXPECT_EQ(written<BaselineKept>().size(), 2U);
}

TEST_F(MachineBaselineTest, AlwaysRunsTheBeforeSideAndOffNeverDoes) {
  first_campaign();
  submit_upgrade(campaign::Baseline::always);
  acquire();
  EXPECT_TRUE(runs(Side::before));
  answer(executed(Outcome::passing));
  change();
  answer(executed(Outcome::passing));
  answer(looked_at());
  EXPECT_EQ(written<BaselineKept>().size(), 2U);

  submit_upgrade(campaign::Baseline::off);
  acquire();
  EXPECT_TRUE(std::holds_alternative<Mutate>(lease().spec.work));
  EXPECT_EQ(written<BaselineWanted>().size(), 1U) << "that of the first campaign";
}

TEST_F(MachineBaselineTest, AnInconclusiveBeforeSideIsNotKept) {
  submit_upgrade();
  acquire();
  TaskResult bad = executed(Outcome::inconclusive);
  bad.reason = Reason::resource_memory;
  answer(std::move(bad));

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_TRUE(written<BaselineKept>().empty());
}

TEST_F(MachineBaselineTest, ACampaignThatIsCancelledWhileTheStoreIsAskedEndsOnce) {
  submit_upgrade();
  answer(acquired(lease()));
  TaskResult modules = passing(lease());
  modules.modules = ModuleFacts{.tree = "tree-before"};
  step_uncommitted(MessageReceived{"k1", "k1-route", ResultMessage{std::move(modules)}});
  step_uncommitted(CancelCampaign{++requests_, replies_.back().answer->campaign});
  commit();
  step(Tick{});

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(written<UnitFinished>().back().verdict, Verdict::cancelled);
}

}  // namespace
}  // namespace cupel::coordinator
