// What the operator orders, and what the fleet does by itself with a worker that fails.
#include "tests/unit/coordinator_core/machine_control_fixture.hpp"

#include <gmock/gmock.h>

namespace cupel::coordinator {
namespace {

// ---- drain -------------------------------------------------------------------------------------

TEST_F(MachineControlTest, ADrainTellsTheWorkerWhatIsLeftOfItsDeadline) {
  join("k1", 11);
  order(WorkerOrder::drain, 11, 60'000);
  EXPECT_EQ(last<Drain>("k1").deadline_ms, 60'000U);
  EXPECT_EQ(machine_.workers()[0].drain_by.us, now_.wall.us + 60'000'000);

  pass(20s);
  heartbeat("k1");

  EXPECT_EQ(last<Drain>("k1").deadline_ms, 40'000U);
  pass(50s);
  join("k1", 11);
  EXPECT_EQ(last<Drain>("k1").deadline_ms, 1U) << "0 would be no deadline";
}

TEST_F(MachineControlTest, AWorkerThatDrainsGetsNothingUntilItIsUndrained) {
  join("k1", 11);
  order(WorkerOrder::drain, 11);
  submit();
  EXPECT_EQ(count<Lease>("k1"), 0U);

  order(WorkerOrder::undrain, 11);

  EXPECT_EQ(count<Lease>("k1"), 1U);
  EXPECT_FALSE(last<Drain>("k1").on);
  EXPECT_EQ(events("worker.drained").size(), 1U);
  EXPECT_EQ(events("worker.undrained").size(), 1U);
}

TEST_F(MachineControlTest, ALabelMeansAllThatHaveIt) {
  join("k1", 11);
  join("k2", 12);
  join("k3", 13);

  order_zone(WorkerOrder::drain, "a");

  ASSERT_TRUE(replies_.back().answer);
  EXPECT_EQ(replies_.back().answer->workers, (std::vector<WorkerId>{WorkerId{11}, WorkerId{12}}));
  EXPECT_EQ(machine_.workers()[0].state, WorkerState::draining);
  EXPECT_EQ(machine_.workers()[1].state, WorkerState::draining);
  EXPECT_EQ(machine_.workers()[2].state, WorkerState::idle);
  OrderWorkers both;
  both.order = WorkerOrder::undrain;
  both.labels = {{"zone", "a"}, {"disk", "old"}};
  step(both);
  EXPECT_EQ(machine_.workers()[0].state, WorkerState::idle);
  EXPECT_EQ(machine_.workers()[1].state, WorkerState::draining);
}

TEST_F(MachineControlTest, ALabelThatNobodyHasIsNotFound) {
  join("k1", 11);

  order_zone(WorkerOrder::drain, "c");

  EXPECT_EQ(replies_.back().answer.error().code, Errc::not_found);
  EXPECT_TRUE(written<WorkerControls>().empty());
}

// ---- quarantine --------------------------------------------------------------------------------

TEST_F(MachineControlTest, AnEngineThatFailsHalfOfTheTimePutsItsWorkerIntoQuarantine) {
  quarantine_by_failures();

  EXPECT_EQ(machine_.workers()[0].state, WorkerState::quarantined);
  EXPECT_EQ(machine_.counters().quarantines_automatic, 1U);
  ASSERT_EQ(events("worker.quarantined").size(), 1U);
  EXPECT_EQ(events("worker.quarantined")[0]["by"], "fleet");
  EXPECT_EQ(count<Lease>("k1"), 5U) << "nothing new";
  ASSERT_FALSE(written<WorkerControls>().empty());
  EXPECT_EQ(written<WorkerControls>().back().quarantine, Quarantine::automatic);
}

TEST_F(MachineControlTest, NothingThatARepositoryDoesCountsAgainstItsWorker) {
  join("k1", 11);
  std::vector<campaign::RepositoryEntry> many;
  for (int i = 0; i < 40; ++i) many.push_back(git("r" + std::to_string(i)));
  submit(many);
  for (const Reason reason : {Reason::timeout, Reason::resource_memory, Reason::upstream,
                              Reason::output_truncated, Reason::resource_disk}) {
    for (int i = 0; i < 6; ++i) {
      TaskResult result = passing(last<Lease>("k1"));
      result.outcome = Outcome::inconclusive;
      result.reason = reason;
      from("k1", ResultMessage{result});
    }
  }
  TaskResult drained = passing(last<Lease>("k1"));
  drained.ending = Ending::interrupted;
  drained.reason = Reason::aborted;
  from("k1", ResultMessage{drained});

  EXPECT_EQ(machine_.workers()[0].state, WorkerState::busy);
  EXPECT_EQ(machine_.workers()[0].failures, 0U);
}

TEST_F(MachineControlTest, ALossCountsOnceHoweverManyAttemptsItCost) {
  join("k1", 11, 6);
  submit({git("a"), git("b"), git("c"), git("d"), git("e"), git("f")});
  std::vector<LiveLease> held;
  for (const Send& send : sent_) {
    if (const auto* lease = std::get_if<Lease>(&send.message)) held.push_back(live(*lease));
  }
  heartbeat("k1", held, 6);

  for (int i = 0; i < 40; ++i) {
    pass(1s);
    step(Tick{});
  }

  EXPECT_EQ(machine_.workers()[0].failures, 1U);
}

TEST_F(MachineControlTest, AProbeGoesOutAfterThePauseAndItsPassEndsTheQuarantine) {
  quarantine_by_failures();
  wait(58s);
  EXPECT_EQ(count<Lease>("k1"), 5U);

  wait(3s);

  const Lease probe = last<Lease>("k1");
  ASSERT_TRUE(is_probe(probe));
  EXPECT_EQ(probe.spec.campaign, CampaignId{});
  EXPECT_TRUE(machine_.workers()[0].probing);
  heartbeat("k1", {live(probe)});
  EXPECT_EQ(last<HeartbeatAck>("k1").renewed, std::vector<LiveLease>{live(probe)});
  from("k1", ResultMessage{passing(probe)});
  EXPECT_TRUE(last<ResultAck>("k1").accepted);
  EXPECT_EQ(machine_.counters().probes_passed, 1U);
  EXPECT_EQ(machine_.counters().releases, 1U);
  EXPECT_EQ(events("worker.probed").size(), 1U);
  ASSERT_EQ(events("worker.released").size(), 1U);
  EXPECT_EQ(events("worker.released")[0]["by"], "probe");
  EXPECT_FALSE(is_probe(last<Lease>("k1"))) << "work again";
  EXPECT_EQ(machine_.workers()[0].state, WorkerState::busy);
  EXPECT_TRUE(written<TaskFinished>().empty()) << "a probe is nobody's task";
  from("k1", ResultMessage{passing(probe)});
  EXPECT_TRUE(last<ResultAck>("k1").accepted) << "a repetition";
}

TEST_F(MachineControlTest, AFailedProbeDoublesThePause) {
  quarantine_by_failures();
  wait(61s);
  const Lease probe = last<Lease>("k1");
  ASSERT_TRUE(is_probe(probe));

  fail_engine("k1");

  EXPECT_EQ(machine_.workers()[0].state, WorkerState::quarantined);
  EXPECT_FALSE(machine_.workers()[0].probing);
  ASSERT_EQ(events("worker.probed").size(), 1U);
  EXPECT_EQ(events("worker.probed")[0]["passed"], false);
  EXPECT_EQ(machine_.counters().quarantines_automatic, 1U);
  wait(118s);
  EXPECT_EQ(last<Lease>("k1").token, probe.token);
  wait(3s);
  EXPECT_NE(last<Lease>("k1").token, probe.token);
  EXPECT_TRUE(is_probe(last<Lease>("k1")));
}

TEST_F(MachineControlTest, AProbeWithoutAnAnswerHasFailed) {
  quarantine_by_failures();
  wait(61s);
  const Lease probe = last<Lease>("k1");
  ASSERT_TRUE(is_probe(probe));

  for (int i = 0; i < 190; ++i) {
    pass(1s);
    heartbeat("k1", {live(probe)});
    step(Tick{});
  }

  EXPECT_GE(machine_.counters().probes_failed, 1U);
  EXPECT_EQ(last<CancelTask>("k1").lease, live(probe));
}

TEST_F(MachineControlTest, AProbeThatIsCutOffSaysNothingAndIsSentAgain) {
  quarantine_by_failures();
  wait(61s);
  const Lease probe = last<Lease>("k1");

  join("k1", 11, 1, {live(probe)});

  EXPECT_EQ(last<Welcome>("k1").cancel, std::vector<LiveLease>{live(probe)});
  EXPECT_EQ(machine_.counters().probes_lost, 1U);
  EXPECT_EQ(machine_.counters().probes_failed, 0U);
  wait(2s);
  EXPECT_NE(last<Lease>("k1").token, probe.token);
}

TEST_F(MachineControlTest, TheOperatorsQuarantineEndsByReleaseAndAProbe) {
  join("k1", 11);
  order(WorkerOrder::quarantine, 11);
  submit();
  wait(300s);
  EXPECT_EQ(count<Lease>("k1"), 0U) << "no probe by itself";
  ASSERT_EQ(events("worker.quarantined").size(), 1U);
  EXPECT_EQ(events("worker.quarantined")[0]["by"], "operator");

  order(WorkerOrder::release, 11);

  const Lease probe = last<Lease>("k1");
  ASSERT_TRUE(is_probe(probe));
  EXPECT_EQ(machine_.workers()[0].state, WorkerState::quarantined);
  EXPECT_THAT(machine_.workers()[0].quarantine_why,
              testing::StartsWith("until a probe passes; the operator has released it from: "));
  from("k1", ResultMessage{passing(probe)});
  EXPECT_FALSE(is_probe(last<Lease>("k1")));
}

TEST_F(MachineControlTest, AReleaseWithoutAProbeIsAtOnce) {
  join("k1", 11);
  order(WorkerOrder::quarantine, 11);
  submit();
  OrderWorkers release;
  release.order = WorkerOrder::release;
  release.worker = WorkerId{11};
  release.probe = false;

  step(release);

  EXPECT_FALSE(is_probe(last<Lease>("k1")));
  EXPECT_EQ(machine_.counters().probes_sent, 0U);
}

TEST_F(MachineControlTest, AWorkerThatDrainsIsNotProbed) {
  quarantine_by_failures();
  order(WorkerOrder::drain, 11);

  wait(120s);

  EXPECT_EQ(machine_.counters().probes_sent, 0U);
}

TEST_F(MachineControlTest, AQuarantineOfTheOperatorIsNotEndedByAProbeThatWasOut) {
  quarantine_by_failures();
  wait(61s);
  const Lease probe = last<Lease>("k1");
  ASSERT_TRUE(is_probe(probe));
  order(WorkerOrder::quarantine, 11);

  from("k1", ResultMessage{passing(probe)});

  EXPECT_EQ(machine_.workers()[0].state, WorkerState::quarantined);
  EXPECT_EQ(machine_.counters().releases, 0U);
}

// ---- pause -------------------------------------------------------------------------------------

TEST_F(MachineControlTest, WhatRunsWhenItsCampaignIsPausedEndsAndNothingFollows) {
  join("k1", 11);
  const CampaignId id = submit();
  const Lease lease = last<Lease>("k1");
  step(PauseCampaign{1, id});

  from("k1", ResultMessage{acquired(lease)});

  EXPECT_TRUE(last<ResultAck>("k1").accepted);
  EXPECT_EQ(count<Lease>("k1"), 1U);
  step(ResumeCampaign{2, id});
  EXPECT_EQ(count<Lease>("k1"), 2U);
}

TEST_F(MachineControlTest, APauseIsSaidOnceHoweverOftenItIsAskedFor) {
  const CampaignId id = submit();
  step(PauseCampaign{1, id});
  step(PauseCampaign{2, id});

  EXPECT_EQ(events("campaign.paused").size(), 1U);
  EXPECT_TRUE(replies_.back().answer);
}

}  // namespace
}  // namespace cupel::coordinator
