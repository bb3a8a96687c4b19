#include "tests/unit/coordinator_core/machine_fixture.hpp"

namespace cupel::coordinator {
namespace {

TEST_F(MachineTest, SendsALeaseOnlyAfterItsCommit) {
  join("k1", 11);
  SubmitCampaign event;
  event.request = 1;
  event.campaign.repositories = {git("a")};
  event.document = "{}";

  step_uncommitted(std::move(event));

  EXPECT_EQ(count<Lease>("k1"), 0U);
  EXPECT_TRUE(replies_.empty());
  commit();
  EXPECT_EQ(count<Lease>("k1"), 1U);
  EXPECT_EQ(replies_.size(), 1U);
}

TEST_F(MachineTest, LeasesWithTheCampaignsSettingsAndTheNewestBeat) {
  join("k1", 11);
  heartbeat("k1");
  submit();

  const Lease lease = last<Lease>("k1");

  EXPECT_EQ(lease.beat, 2U);
  EXPECT_EQ(std::get<GitSource>(std::get<AcquireSource>(lease.spec.work).source).url,
            "https://example.com/a");
}

TEST_F(MachineTest, GivesAWorkerNoMoreLeasesThanItHasSlots) {
  join("k1", 11, 2);
  submit({git("a"), git("b"), git("c")});

  EXPECT_EQ(count<Lease>("k1"), 2U);
}

TEST_F(MachineTest, AcknowledgesARepeatedResultAsAccepted) {
  join("k1", 11);
  submit();
  const Lease lease = last<Lease>("k1");
  from("k1", ResultMessage{acquired(lease)});

  from("k1", ResultMessage{acquired(lease)});

  EXPECT_EQ(count<ResultAck>("k1"), 2U);
  EXPECT_TRUE(last<ResultAck>("k1").accepted);
  EXPECT_EQ(written<TaskFinished>().size(), 1U);
  EXPECT_EQ(machine_.counters().results_repeated, 1U);
}

TEST_F(MachineTest, RefusesAResultOfAnotherWorkerEvenWithTheRightToken) {
  join("k1", 11);
  join("k2", 12, 0);
  submit();
  const Lease lease = last<Lease>("k1");

  from("k2", ResultMessage{acquired(lease)});

  EXPECT_FALSE(last<ResultAck>("k2").accepted);
  EXPECT_TRUE(written<TaskFinished>().empty());
  EXPECT_EQ(machine_.counters().fenced_results, 1U);
}

TEST_F(MachineTest, RefusesAResultWhoseLeaseHasRunOut) {
  join("k1", 11);
  submit();
  const Lease lease = last<Lease>("k1");
  heartbeat("k1", {live(lease)});
  for (int i = 0; i < 31; ++i) {
    pass(1s);
    step(Tick{});
  }
  join("k1", 11, 0);

  from("k1", ResultMessage{acquired(lease)});

  EXPECT_FALSE(last<ResultAck>("k1").accepted);
  EXPECT_TRUE(written<TaskFinished>().empty());
  ASSERT_EQ(written<TaskReturned>().size(), 1U);
  EXPECT_EQ(written<TaskReturned>()[0].interruptions, 1);
  EXPECT_EQ(written<TaskReturned>()[0].charged, 0);
}

TEST_F(MachineTest, ExpiresNothingForTheTimeThatItStoodStillItself) {
  join("k1", 11);
  submit();
  heartbeat("k1", {live(last<Lease>("k1"))});

  pass(300s);
  step(Tick{});

  EXPECT_TRUE(written<TaskReturned>().empty());
}

TEST_F(MachineTest, RenewsWhatTheHeartbeatListsAndNamesTheRestAsLost) {
  join("k1", 11);
  submit();
  const LiveLease mine = live(last<Lease>("k1"));
  const LiveLease guessed{TaskId{999}, Token{999}};

  heartbeat("k1", {mine, guessed});

  const HeartbeatAck ack = last<HeartbeatAck>("k1");
  EXPECT_EQ(ack.renewed, std::vector<LiveLease>{mine});
  EXPECT_EQ(ack.lost, std::vector<LiveLease>{guessed});
  EXPECT_EQ(ack.beat, 2U);
}

TEST_F(MachineTest, DoesNotCountALeaseThatNeverArrivedAgainstTheTask) {
  join("k1", 11);
  submit();
  for (int i = 0; i < 31; ++i) {
    pass(1s);
    step(Tick{});
    heartbeat("k1");
  }

  ASSERT_EQ(written<TaskReturned>().size(), 1U);
  EXPECT_EQ(written<TaskReturned>()[0].interruptions, 0);
  EXPECT_EQ(machine_.counters().retries_undelivered, 1U);
}

TEST_F(MachineTest, AsksAStrangerToSayHelloAgain) {
  heartbeat("k1");

  EXPECT_EQ(count<HelloAgain>("k1"), 1U);
  EXPECT_EQ(count<HeartbeatAck>("k1"), 0U);
}

TEST_F(MachineTest, KeepsWhatAReturningWorkerStillRuns) {
  join("k1", 11);
  submit();
  const LiveLease mine = live(last<Lease>("k1"));

  join("k1", 11, 1, {mine, {TaskId{5}, Token{5}}});

  const Welcome welcome = last<Welcome>("k1");
  EXPECT_EQ(welcome.keep, std::vector<LiveLease>{mine});
  EXPECT_EQ(welcome.cancel, (std::vector<LiveLease>{{TaskId{5}, Token{5}}}));
  EXPECT_TRUE(written<TaskReturned>().empty());
}

TEST_F(MachineTest, TakesTheLeasesBackWhenTheWorkerSaysGoodbye) {
  join("k1", 11);
  submit();
  from("k1", Goodbye{});

  ASSERT_EQ(written<TaskReturned>().size(), 1U);
  EXPECT_EQ(written<TaskReturned>()[0].state, TaskState::queued);
}

TEST_F(MachineTest, DropsTheSessionOfARevokedKeyAndItsLeases) {
  join("k1", 11);
  submit();
  step(TrustChanged{{{"k2", "two", {}}}});

  EXPECT_EQ(last<Refuse>("k1").code, Errc::not_trusted);
  EXPECT_EQ(written<TaskReturned>().size(), 1U);
  heartbeat("k1");
  EXPECT_EQ(machine_.counters().untrusted, 1U);
}

TEST_F(MachineTest, TellsAProcessThatGaveWayToStop) {
  const auto hello = [this](std::uint64_t incarnation) {
    Hello message;
    message.protocol_min = kProtocolVersionMin;
    message.protocol_max = kProtocolVersionMax;
    message.worker = WorkerId{11};
    message.incarnation = Incarnation{incarnation};
    message.beat = ++beats_["k1"];
    from("k1", message);
  };
  hello(1);
  for (int i = 0; i < 5; ++i) {
    pass(1s);
    step(Tick{});
  }
  hello(2);

  hello(1);

  EXPECT_EQ(count<Welcome>("k1"), 2U);
  EXPECT_EQ(last<Refuse>("k1").code, Errc::duplicate_identity);
  EXPECT_EQ(last<Refuse>("k1").retry_after_ms, 0U) << "it is to end";
}

TEST_F(MachineTest, RepeatsALostOrderToDrain) {
  join("k1", 11);
  order(WorkerOrder::drain, 11, 5000);
  const std::size_t before = count<Drain>("k1");

  heartbeat("k1");

  EXPECT_EQ(count<Drain>("k1"), before + 1);
  EXPECT_EQ(last<Drain>("k1").deadline_ms, 5000U);
}

TEST_F(MachineTest, SurvivesAFlood) {
  join("k1", 11);
  const std::size_t before = count<HeartbeatAck>("k1");
  for (int i = 0; i < 20'000; ++i) heartbeat("k1");

  EXPECT_LT(count<HeartbeatAck>("k1") - before, 10'001U);
  EXPECT_GT(machine_.counters().rate_limited, 9'000U);
}

TEST_F(MachineTest, OpensTheBulkPlaneOnlyForLiveLeasesOfTheSession) {
  campaign::RepositoryEntry entry;
  const Digest artifact = sha256("pack");
  entry.source = BundleSource{artifact, std::string(40, 'a'), "./x"};
  join("k1", 11);
  join("k2", 12, 0);
  submit({entry});
  const LiveLease lease = live(last<Lease>("k1"));
  const std::uint64_t session = last<Welcome>("k1").session;
  const std::uint64_t other = last<Welcome>("k2").session;

  EXPECT_TRUE(machine_.lease_is_live(session, "k1", lease));
  EXPECT_TRUE(machine_.may_get(session, "k1", lease, artifact).has_value());
  EXPECT_EQ(machine_.may_get(session, "k1", lease, sha256("other")).error().code,
            Errc::refused_by_policy);
  EXPECT_EQ(machine_.may_get(other, "k2", lease, artifact).error().code, Errc::lease_lost);
  EXPECT_EQ(machine_.may_put(session, "k2", lease).error().code, Errc::not_trusted);
  EXPECT_EQ(
      machine_.may_put(session, "k1", {lease.task, Token{lease.token.value + 1}}).error().code,
      Errc::lease_lost);
}

TEST_F(MachineTest, PassesOutputOnOnlyForALiveLease) {
  join("k1", 11);
  submit();
  const LiveLease lease = live(last<Lease>("k1"));
  LogTail tail;
  tail.task = lease.task;
  tail.token = lease.token;

  from("k1", tail);
  tail.token.value += 1;
  from("k1", tail);

  EXPECT_EQ(tails_, 1);
  EXPECT_EQ(machine_.counters().fenced_logs, 1U);
}

TEST_F(MachineTest, PromisesNothingAfterTheStoreFailed) {
  join("k1", 11);
  SubmitCampaign event;
  event.request = 1;
  event.campaign.repositories = {git("a")};
  event.document = "{}";
  step_uncommitted(std::move(event));
  const BatchId batch = open_.front().batch;
  open_.clear();

  step(StoreFailed{batch, Error{Errc::store_failed, "disk", "", ""}});
  step(Tick{});

  EXPECT_TRUE(store_lost_);
  EXPECT_EQ(count<Lease>("k1"), 0U);
  EXPECT_TRUE(replies_.empty());
}

}  // namespace
}  // namespace cupel::coordinator
