// Each cause is named exactly when the scheduler passes a task over for it: every test looks at
// both.
#include "tests/unit/coordinator_core/machine_fixture.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

class MachineWhyTest : public MachineTest {
 protected:
  struct Asked {
    std::int32_t priority = 0;
    std::uint32_t max_parallel = 0;
    std::string image = "auto";
    std::string owner = "ann";
    bool enforced_egress = false;
    std::vector<campaign::RepositoryEntry> repositories = {git("a")};
  };
  CampaignId ask(const Asked& asked) {
    SubmitCampaign event;
    event.request = ++requests_;
    event.campaign.name = "c";
    event.campaign.repositories = asked.repositories;
    event.campaign.retries_infra = 3;
    event.campaign.priority = asked.priority;
    event.campaign.max_parallel = asked.max_parallel;
    event.campaign.settings.image = asked.image;
    event.campaign.settings.require_enforced_egress = asked.enforced_egress;
    event.document = "{\"" + std::to_string(requests_) + "\":1}";
    event.owner = asked.owner;
    step(std::move(event));
    return replies_.back().answer->campaign;
  }
  /// Of the newest task; it must not have been leased since it was made.
  std::vector<WaitCause> causes() const { return causes(created_.back().id); }
  std::vector<WaitCause> causes(TaskId task) const {
    const auto explanation = machine_.explain(task);
    std::vector<WaitCause> all;
    if (!explanation) return all;
    EXPECT_FALSE(sentence(*explanation).empty());
    for (const WaitReason& reason : explanation->reasons) {
      EXPECT_FALSE(reason.text.empty());
      all.push_back(reason.cause);
    }
    return all;
  }
  bool leased(TaskId task) const {
    const auto all = written<TaskLeased>();
    return std::ranges::any_of(all, [task](const TaskLeased& one) { return one.id == task; });
  }
  TaskId newest() const { return created_.back().id; }
  using Causes = std::vector<WaitCause>;
};

TEST_F(MachineWhyTest, NoWorkerIsConnected) {
  ask({});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::no_worker});
}

TEST_F(MachineWhyTest, TheCampaignIsPaused) {
  const CampaignId id = ask({});
  step(PauseCampaign{1, id});
  join("k1", 11);

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::paused});
  step(ResumeCampaign{2, id});
  EXPECT_TRUE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::running});
}

TEST_F(MachineWhyTest, TheOnlyWorkerDrains) {
  join("k1", 11);
  order(WorkerOrder::drain, 11);
  ask({});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::draining});
  order(WorkerOrder::undrain, 11);
  EXPECT_TRUE(leased(newest()));
}

TEST_F(MachineWhyTest, TheOnlyWorkerIsInQuarantine) {
  join("k1", 11);
  order(WorkerOrder::quarantine, 11);
  ask({});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::quarantined});
  EXPECT_NE(machine_.why(newest())->find("by the operator"), std::string::npos);
}

TEST_F(MachineWhyTest, TheOnlyWorkerIsBelowItsDiskWatermarkOrRestsOtherwise) {
  join("k1", 11);
  Heartbeat message;
  message.capacity.blocked = "disk";
  message.beat = ++beats_["k1"];
  from("k1", message);
  ask({});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::disk});
  message.capacity.blocked = "engine";
  message.beat = ++beats_["k1"];
  from("k1", message);
  EXPECT_EQ(causes(), Causes{WaitCause::resting});
}

TEST_F(MachineWhyTest, TheWorkersLackTheImage) {
  join("k1", 11);
  join("k2", 12);
  ask({.image = "sha256:abc"});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), (Causes{WaitCause::image_missing, WaitCause::image_missing}));
  EXPECT_NE(machine_.why(newest())->find("lacks image sha256:abc"), std::string::npos);
}

TEST_F(MachineWhyTest, TheWorkerDoesNotEnforceEgress) {
  join("k1", 11);
  ask({.enforced_egress = true});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::egress});
  EXPECT_NE(machine_.why(newest())->find("doesn't enforce egress"), std::string::npos);

  Heartbeat message;
  message.capacity.slots = 1;
  message.capacity.enforces_egress = true;
  message.beat = ++beats_["k1"];
  from("k1", message);
  EXPECT_TRUE(leased(newest()));
}

TEST_F(MachineWhyTest, TheWorkersModuleProxiesFail) {
  join("k1", 11);
  ask({});
  ASSERT_TRUE(leased(newest()));
  Heartbeat message;
  message.capacity.slots = 1;
  message.capacity.upstream_paused = true;
  message.beat = ++beats_["k1"];
  from("k1", message);

  EXPECT_EQ(causes(), Causes{WaitCause::upstream});
  message.capacity.upstream_paused = false;
  message.beat = ++beats_["k1"];
  from("k1", message);
  EXPECT_EQ(causes(), Causes{WaitCause::running});
}

TEST_F(MachineWhyTest, TheWorkerIsSilent) {
  join("k1", 11);
  for (int i = 0; i < 6; ++i) {
    pass(1s);
    step(Tick{});
  }
  ask({});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::silent});
  heartbeat("k1");
  EXPECT_TRUE(leased(newest()));
}

TEST_F(MachineWhyTest, EverySlotIsTakenAndOlderWorkIsFirst) {
  join("k1", 11);
  ask({.repositories = {git("a"), git("b"), git("c")}});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), (Causes{WaitCause::no_slot, WaitCause::order}));
}

TEST_F(MachineWhyTest, EverySlotIsTakenAndALargerPriorityIsFirst) {
  join("k1", 11);
  ask({.repositories = {git("a")}});
  ask({.priority = 1, .repositories = {git("b")}});
  ask({.repositories = {git("c")}});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), (Causes{WaitCause::no_slot, WaitCause::priority}));
}

TEST_F(MachineWhyTest, EverySlotIsTakenAndAnotherOwnerHasHadLess) {
  join("k1", 11);
  ask({.owner = "ann", .repositories = {git("a"), git("b")}});
  const TaskId second = newest();
  ask({.owner = "bob", .repositories = {git("c")}});

  EXPECT_FALSE(leased(second));
  EXPECT_EQ(causes(second), (Causes{WaitCause::no_slot, WaitCause::fair_share}));
  EXPECT_EQ(causes(newest()), Causes{WaitCause::no_slot});
}

TEST_F(MachineWhyTest, TheCampaignRunsAsMuchAsItMay) {
  join("k1", 11, 4);
  ask({.max_parallel = 1, .repositories = {git("a"), git("b")}});

  EXPECT_FALSE(leased(newest()));
  EXPECT_EQ(causes(), Causes{WaitCause::max_parallel});
}

TEST_F(MachineWhyTest, ItFailedAndWaits) {
  join("k1", 11);
  ask({});
  TaskResult result = passing(last<Lease>("k1"));
  result.ending = Ending::interrupted;
  result.reason = Reason::engine;
  from("k1", ResultMessage{result});

  const auto explanation = machine_.explain(newest());

  EXPECT_EQ(written<TaskLeased>().size(), 1U) << "not leased again";
  ASSERT_TRUE(explanation);
  ASSERT_EQ(explanation->reasons.size(), 1U);
  EXPECT_EQ(explanation->reasons[0].cause, WaitCause::back_off);
  EXPECT_GT(explanation->reasons[0].until.us, now_.wall.us);
}

TEST_F(MachineWhyTest, ItsWorkspaceIsOnAWorkerThatIsNotThere) {
  join("k1", 11);
  join("k2", 12);
  ask({});
  const bool first = count<Lease>("k1") == 1;
  const std::string key = first ? "k1" : "k2";
  const Lease source = last<Lease>(key);
  order(WorkerOrder::drain, first ? 11 : 12);
  from(key, ResultMessage{acquired(source)});
  const TaskId modules = newest();

  const auto explanation = machine_.explain(modules);

  EXPECT_FALSE(leased(modules)) << "though the other worker is free";
  EXPECT_EQ(causes(modules), (Causes{WaitCause::draining, WaitCause::bound}));
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->unit, written<UnitCreated>().back().unit.id);
  EXPECT_GT(explanation->reasons[1].until.us, now_.wall.us) << "when it is fetched elsewhere";
  const auto by_unit = machine_.explain(explanation->unit);
  ASSERT_TRUE(by_unit);
  EXPECT_EQ(by_unit->task, modules);
}

TEST_F(MachineWhyTest, ItsRepositoryIsFetchedAgain) {
  join("k1", 11);
  ask({});
  from("k1", ResultMessage{acquired(last<Lease>("k1"))});
  const TaskId modules = newest();
  TaskResult lost = passing(last<Lease>("k1"));
  lost.ending = Ending::lost_workspace;
  from("k1", ResultMessage{lost});

  EXPECT_EQ(written<TaskReturned>().back().state, TaskState::blocked);
  EXPECT_EQ(causes(modules), Causes{WaitCause::acquiring});
}

TEST_F(MachineWhyTest, ACampaignsTasksAreGroupedByWhatTheyWaitFor) {
  join("k1", 11);
  order(WorkerOrder::drain, 11);
  const CampaignId waits = ask({.repositories = {git("a"), git("b"), git("c")}});
  const CampaignId other = ask({});

  const auto all = machine_.explain(waits);

  ASSERT_TRUE(all);
  EXPECT_EQ(all->running, 0U);
  EXPECT_EQ(all->waiting, 3U);
  EXPECT_EQ(all->examined, 3U);
  ASSERT_EQ(all->groups.size(), 1U);
  EXPECT_EQ(all->groups[0].reason.cause, WaitCause::draining);
  EXPECT_EQ(all->groups[0].tasks, 3U);
  EXPECT_TRUE(machine_.explain(all->groups[0].example));
  EXPECT_EQ(machine_.explain(other)->waiting, 1U);
  order(WorkerOrder::undrain, 11);
  EXPECT_GT(machine_.explain(waits)->running, 0U);
  EXPECT_FALSE(machine_.explain(CampaignId{987654}));
}

TEST_F(MachineWhyTest, NothingIsSaidOfWhatIsOver) {
  EXPECT_FALSE(machine_.explain(TaskId{42}));
  EXPECT_FALSE(machine_.explain(UnitId{42}));
  EXPECT_FALSE(machine_.explain(TaskId{}));
}

TEST_F(MachineWhyTest, EveryCauseHasAName) {
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    EXPECT_FALSE(name(static_cast<WaitCause>(i)).empty()) << i;
  }
}

}  // namespace
}  // namespace cupel::coordinator
