#include "common/core/limits.hpp"
#include "tests/unit/worker_agent/agent_fixture.hpp"

namespace cupel::worker {
namespace {

TEST_F(AgentTest, SaysHelloWhenConnectedAndBeatsOnceWelcome) {
  step(Connected{});
  ASSERT_NE(sent<Hello>(), nullptr);
  EXPECT_EQ(sent<Heartbeat>(), nullptr);

  Welcome welcome;
  welcome.protocol = kProtocolVersionMax;
  welcome.beat = sent<Hello>()->beat;
  welcome.session = 5;
  tell(welcome);

  EXPECT_NE(sent<Heartbeat>(), nullptr);
  EXPECT_EQ(agent_->status().session, SessionState::ready);
  EXPECT_EQ(action<SessionChanged>()->session, 5U);
}

TEST_F(AgentTest, IgnoresTheWelcomeOfAnOlderHello) {
  step(Connected{});
  Welcome stale;
  stale.protocol = kProtocolVersionMax;
  stale.beat = sent<Hello>()->beat;
  stale.session = 5;
  pass(5s);
  ASSERT_NE(sent<Hello>(), nullptr);

  tell(stale);

  EXPECT_EQ(agent_->status().session, SessionState::greeting);
}

TEST_F(AgentTest, RepeatsTheHelloWithGrowingPauses) {
  step(Connected{});
  int hellos = 0;
  for (int i = 0; i < 600; ++i) {
    pass(100ms);
    hellos += sent<Hello>() != nullptr ? 1 : 0;
  }

  EXPECT_GE(hellos, 3);
  EXPECT_LE(hellos, 10);
}

TEST_F(AgentTest, StartsALeaseAndRenewsIt) {
  join();
  const LiveLease mine = lease(1, 10);

  EXPECT_NE(action<StartAttempt>(), nullptr);
  pass(2s);
  EXPECT_EQ(sent<Heartbeat>()->renew, std::vector<LiveLease>{mine});
}

TEST_F(AgentTest, StartsARepeatedLeaseOnce) {
  join();
  lease(1, 10);
  lease(1, 10);

  EXPECT_EQ(action<StartAttempt>(), nullptr);
  EXPECT_EQ(agent_->status().leases_ignored, 1U);
}

TEST_F(AgentTest, StartsNothingFromALeaseThatWasOnItsWayForTooLong) {
  join();
  now_ += 21s;  // the lease is counted from the beat that it names, and the margin is 10 s

  lease(1, 10);

  EXPECT_EQ(action<StartAttempt>(), nullptr);
}

TEST_F(AgentTest, StartsNothingFromALeaseOfAnEarlierSession) {
  join();
  const std::uint64_t old = beat_;
  join();
  beat_ = old - 1;

  lease(1, 10);

  EXPECT_EQ(action<StartAttempt>(), nullptr);
}

TEST_F(AgentTest, NeverStartsMoreThanItsSlots) {
  join();
  lease(1, 10);
  lease(2, 11);
  const LiveLease third = lease(3, 12);
  EXPECT_EQ(action<StartAttempt>(), nullptr);
  EXPECT_EQ(agent_->status().waiting, 1U);

  step(AttemptFinished{{TaskId{1}, Token{10}}, true});

  ASSERT_NE(action<StartAttempt>(), nullptr);
  EXPECT_EQ(action<StartAttempt>()->lease.token, third.token);
}

TEST_F(AgentTest, StopsItsAttemptsBeforeTheLeaseEndsWhenItIsCutOff) {
  join();
  const LiveLease mine = lease(1, 10);
  step(Disconnected{});
  pass(19s);
  EXPECT_EQ(action<CancelAttempt>(), nullptr);

  pass(1s);

  ASSERT_NE(action<CancelAttempt>(), nullptr);
  EXPECT_EQ(action<CancelAttempt>()->lease, mine);
  EXPECT_EQ(action<CancelAttempt>()->why, CancelWhy::not_renewed);
}

TEST_F(AgentTest, KeepsAnAttemptForAsLongAsItIsRenewed) {
  join();
  const LiveLease mine = lease(1, 10);
  for (int i = 0; i < 60; ++i) {
    renew(mine);
    ASSERT_EQ(action<CancelAttempt>(), nullptr) << i;
  }
}

TEST_F(AgentTest, CountsARenewalFromTheHeartbeatThatItAnswers) {
  join();
  const LiveLease mine = lease(1, 10);
  pass(2s);
  note_beat();
  HeartbeatAck late;
  late.beat = beat_;
  late.renewed = {mine};
  now_ += 15s;
  tell(late);

  now_ += 5s;  // 20 s after the heartbeat, 5 s after its answer
  step(Tick{});

  EXPECT_NE(action<CancelAttempt>(), nullptr);
}

TEST_F(AgentTest, StopsWhatTheCoordinatorCallsLostAndDropsItsResult) {
  join();
  const LiveLease mine = lease(1, 10);
  HeartbeatAck ack;
  ack.beat = beat_;
  ack.lost = {mine};
  tell(ack);
  EXPECT_EQ(action<CancelAttempt>()->why, CancelWhy::lease_lost);

  step(AttemptFinished{mine, true});

  EXPECT_EQ(action<SendResult>(), nullptr);
  EXPECT_EQ(action<DropResult>()->lease, mine);
}

TEST_F(AgentTest, SendsAResultUntilItIsAcknowledged) {
  join();
  const LiveLease mine = lease(1, 10);
  step(AttemptFinished{mine, true});
  EXPECT_NE(action<SendResult>(), nullptr);
  pass(4s);
  EXPECT_EQ(action<SendResult>(), nullptr);
  pass(1s);
  EXPECT_NE(action<SendResult>(), nullptr);

  tell(ResultAck{mine, true});

  EXPECT_TRUE(action<DropResult>()->accepted);
  pass(10s);
  EXPECT_EQ(action<SendResult>(), nullptr);
}

TEST_F(AgentTest, ReportsTheOutboxOfAnEarlierProcessAndObeysTheAnswer) {
  const LiveLease known{TaskId{1}, Token{10}};
  const LiveLease forgotten{TaskId{2}, Token{11}};
  restart({known, forgotten});
  step(Connected{});
  ASSERT_EQ(sent<Hello>()->unacknowledged.size(), 2U);
  Welcome welcome;
  welcome.protocol = kProtocolVersionMax;
  welcome.session = 5;
  welcome.beat = sent<Hello>()->beat;
  welcome.resend = {known};
  welcome.forget = {forgotten};

  tell(welcome);

  ASSERT_NE(action<DropResult>(), nullptr);
  EXPECT_EQ(action<DropResult>()->lease, forgotten);
  ASSERT_NE(action<SendResult>(), nullptr);
  EXPECT_EQ(action<SendResult>()->lease, known);
}

TEST_F(AgentTest, GivesBackAResultThatCouldNotBeStored) {
  join();
  const LiveLease mine = lease(1, 10);

  step(AttemptFinished{mine, false});

  ASSERT_NE(sent<ResultMessage>(), nullptr);
  EXPECT_EQ(sent<ResultMessage>()->result.ending, Ending::interrupted);
}

TEST_F(AgentTest, WaitsAsLongAsADuplicateIsTold) {
  step(Connected{});
  tell(Refuse{Errc::duplicate_identity, "another process", 3000});
  EXPECT_EQ(agent_->status().session, SessionState::refused);
  pass(2900ms);
  EXPECT_EQ(sent<Hello>(), nullptr);

  pass(100ms);

  EXPECT_NE(sent<Hello>(), nullptr);
}

TEST_F(AgentTest, ExitsWhenItWillNeverBeWelcome) {
  step(Connected{});

  tell(Refuse{Errc::protocol_mismatch, "speaks 9 to 9", 0});

  ASSERT_NE(action<Exit>(), nullptr);
  EXPECT_EQ(action<Exit>()->code, error_info(Errc::protocol_mismatch).exit_code);
}

TEST_F(AgentTest, SaysHelloAgainWhenAskedOrWhenNobodyAnswers) {
  join();
  tell(HelloAgain{});
  EXPECT_NE(sent<Hello>(), nullptr);

  join();
  for (int i = 0; i < 4; ++i) pass(2s);
  EXPECT_EQ(sent<Hello>(), nullptr);
  pass(1s);
  EXPECT_NE(sent<Hello>(), nullptr);
}

TEST_F(AgentTest, CancelsWhatTheCampaignNoLongerWants) {
  join();
  const LiveLease mine = lease(1, 10);

  tell(CancelTask{mine});

  EXPECT_EQ(action<CancelAttempt>()->why, CancelWhy::requested);
}

TEST_F(AgentTest, NeverStartsALeaseThatWasCancelledBeforeItArrived) {
  join();
  tell(CancelTask{{TaskId{1}, Token{10}}});

  lease(1, 10);

  EXPECT_EQ(action<StartAttempt>(), nullptr);
}

TEST_F(AgentTest, NamesTheNextMomentItNeedsATick) {
  EXPECT_EQ(agent_->next_due(), TimePoint::max());
  join();
  EXPECT_EQ(agent_->next_due(), now_ + 2s);
}

}  // namespace
}  // namespace cupel::worker
