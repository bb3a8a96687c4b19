// What the operator orders, and what the fleet does by itself with a worker that fails.
#include "tests/unit/coordinator_core/machine_fixture.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace cupel::coordinator {
namespace {

class MachineControlTest : public MachineTest {
 protected:
  MachineControlTest() {
    step(TrustChanged{{{"k1", "one", {{"zone", "a"}, {"disk", "old"}}},
                       {"k2", "two", {{"zone", "a"}}},
                       {"k3", "three", {{"zone", "b"}}}}});
  }
  void order_zone(WorkerOrder what, const std::string& zone) {
    OrderWorkers event;
    event.request = ++requests_;
    event.order = what;
    event.labels = {{"zone", zone}};
    step(std::move(event));
  }
  /// The worker ends its newest lease with an engine that failed.
  void fail_engine(const std::string& key) {
    TaskResult result = passing(last<Lease>(key));
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    from(key, ResultMessage{result});
  }
  /// A worker with one slot, which fails five times.
  void quarantine_by_failures() {
    join("k1", 11);
    submit({git("a"), git("b"), git("c"), git("d"), git("e"), git("f")});
    for (int i = 0; i < 5; ++i) fail_engine("k1");
  }
  void wait(Duration time) {
    for (Duration passed{}; passed < time; passed += 1s) {
      pass(1s);
      heartbeat("k1");
      step(Tick{});
    }
  }
  [[nodiscard]] bool is_probe(const Lease& lease) const {
    return std::holds_alternative<NoOp>(lease.spec.work);
  }
  std::vector<nlohmann::json> events(const std::string& type) const {
    std::vector<nlohmann::json> found;
    for (const auto& event : written<EventAppended>()) {
      if (event.type == type) found.push_back(nlohmann::json::parse(event.body));
    }
    return found;
  }
};

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

// ---- restarts ----------------------------------------------------------------------------------

class MachineRestartTest : public MachineControlTest {
 protected:
  MachineRestartTest() {
    CampaignRow row;
    row.id = kCampaign;
    row.owner = "ann";
    row.created = now_.wall;
    recovered_.campaigns.push_back(row);
    RepositoryRow repository;
    repository.id = RepositoryId{8};
    repository.campaign = row.id;
    repository.source = R"({"type":"git","url":"https://example.com/a","ref":"main"})";
    recovered_.repositories.push_back(repository);
    recovered_.sequences = {100, 100};
  }

  void restart() {
    campaign::Campaign asked;
    asked.repositories.push_back(git("a"));
    for (const TaskRow& row : recovered_.tasks) specs_[row.id] = "{}";
    machine_ = Machine(settings(), recovered_, {{kCampaign, asked}}, now_);
    step(TrustChanged{{{"k1", "one", {}}}});
    join("k1", 11);
  }

  static constexpr CampaignId kCampaign{7};
  Recovered recovered_ = empty_store();
};

TEST_F(MachineRestartTest, APausedCampaignIsPausedStill) {
  recovered_.campaigns[0].state = CampaignState::paused;

  restart();

  EXPECT_EQ(count<Lease>("k1"), 0U);
  EXPECT_EQ(machine_.gauges().campaigns_paused, 1U);
  step(ResumeCampaign{1, kCampaign});
  EXPECT_EQ(count<Lease>("k1"), 1U);
}

// The clock of whoever wrote the time was most of an hour ahead.
TEST_F(MachineRestartTest, ATaskWaitsNoLongerThanItsBackOffWhateverTheClockWas) {
  TaskRow task;
  task.id = TaskId{9};
  task.campaign = kCampaign;
  task.repository = recovered_.repositories[0].id;
  task.interruptions = 1;
  task.ready = task.not_before = {now_.wall.us + 50 * 60 * 1'000'000LL};
  recovered_.tasks.push_back(task);

  restart();

  EXPECT_EQ(count<Lease>("k1"), 0U) << "its back-off isn't over";
  EXPECT_LE(machine_.gauges().oldest_ready_us, now_.wall.us + 2'000'000);
  wait(settings().backoff_first + 1s);
  EXPECT_EQ(count<Lease>("k1"), 1U) << machine_.why(task.id).value_or("");
}

TEST_F(MachineRestartTest, ALeaseThatNamesNoWorkerIsGivenOutAnew) {
  TaskRow task;
  task.id = TaskId{9};
  task.campaign = kCampaign;
  task.repository = recovered_.repositories[0].id;
  task.state = TaskState::leased;
  task.token = Token{40};
  recovered_.tasks.push_back(task);

  restart();

  ASSERT_EQ(written<TaskReturned>().size(), 1U);
  EXPECT_EQ(written<TaskReturned>()[0].token, task.token);
  ASSERT_EQ(count<Lease>("k1"), 1U);
  EXPECT_GT(last<Lease>("k1").token, task.token);
}

TEST_F(MachineRestartTest, AProbeWaitsNoLongerThanItsPauseWhateverTheClockWas) {
  recovered_.workers.push_back(
      {.id = WorkerId{11}, .name = "one", .key = "k1", .host = {}, .version = {}, .at = {}});
  WorkerControls controls;
  controls.id = WorkerId{11};
  controls.quarantine = Quarantine::automatic;
  controls.round = 1;
  controls.probe_at = {now_.wall.us + 50 * 60 * 1'000'000LL};
  recovered_.controls.push_back(controls);

  restart();

  EXPECT_EQ(count<Lease>("k1"), 0U);
  wait(settings().quarantine + 1s);
  ASSERT_EQ(count<Lease>("k1"), 1U);
  EXPECT_TRUE(is_probe(last<Lease>("k1")));
}

}  // namespace
}  // namespace cupel::coordinator
