#include "worker/core/agent/agent.hpp"

#include "common/core/limits.hpp"

#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using namespace std::chrono_literals;

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() { restart({}); }

  void restart(const std::vector<LiveLease>& outbox, std::uint32_t slots = 2) {
    AgentSettings settings;
    settings.worker = WorkerId{7};
    settings.incarnation = Incarnation{1};
    settings.drain_deadline = 60s;
    Capacity capacity;
    capacity.slots = slots;
    agent_ = std::make_unique<Agent>(settings, capacity, outbox, now_);
  }
  void step(AgentEvent event) { actions_ = agent_->step(std::move(event), now_); }
  void tell(ToWorker message) { step(FromCoordinator{std::move(message)}); }
  void pass(Duration time) {
    now_ += time;
    step(Tick{});
  }
  /// The first action of a kind in the last step.
  template <typename Kind>
  const Kind* action() const {
    for (const AgentAction& action : actions_) {
      if (const auto* known = std::get_if<Kind>(&action)) return known;
    }
    return nullptr;
  }
  /// The first message of a kind that the last step sent.
  template <typename Kind>
  const Kind* sent() const {
    for (const AgentAction& action : actions_) {
      const auto* send = std::get_if<SendMessage>(&action);
      const auto* known = send == nullptr ? nullptr : std::get_if<Kind>(&send->message);
      if (known != nullptr) return known;
    }
    return nullptr;
  }
  void join() {
    step(Connected{});
    const Hello* hello = sent<Hello>();
    ASSERT_NE(hello, nullptr);
    beat_ = hello->beat;
    Welcome welcome;
    welcome.protocol = kProtocolVersionMax;
    welcome.session = 5;
    welcome.beat = beat_;
    tell(welcome);
    note_beat();
  }
  void note_beat() {
    if (const Heartbeat* heartbeat = sent<Heartbeat>()) beat_ = heartbeat->beat;
  }
  LiveLease lease(std::uint64_t task, std::uint64_t token) {
    Lease message;
    message.spec.id = TaskId{task};
    message.token = Token{token};
    message.beat = beat_;
    tell(message);
    return {TaskId{task}, Token{token}};
  }
  void renew(const LiveLease& mine) {
    pass(2s);
    note_beat();
    HeartbeatAck ack;
    ack.beat = beat_;
    ack.renewed = {mine};
    tell(ack);
  }

  TimePoint now_{std::chrono::hours(1)};
  std::unique_ptr<Agent> agent_;
  AgentActions actions_;
  std::uint64_t beat_ = 0;
};

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

TEST_F(AgentTest, DrainsOnTerm) {
  join();
  const LiveLease mine = lease(1, 10);

  step(Terminate{});
  EXPECT_TRUE(sent<Heartbeat>()->capacity.draining);
  EXPECT_EQ(action<Exit>(), nullptr);
  lease(2, 11);
  EXPECT_EQ(action<StartAttempt>(), nullptr);
  EXPECT_NE(sent<ResultMessage>(), nullptr);
  step(AttemptFinished{mine, true});
  EXPECT_EQ(action<Exit>(), nullptr);
  tell(ResultAck{mine, true});

  ASSERT_NE(sent<Goodbye>(), nullptr);
  ASSERT_NE(action<Exit>(), nullptr);
  EXPECT_EQ(action<Exit>()->code, 0);
  EXPECT_TRUE(agent_->status().exited);
}

TEST_F(AgentTest, GivesItsAttemptsBackAtTheDrainDeadline) {
  join();
  const LiveLease mine = lease(1, 10);
  step(Terminate{});
  for (int i = 0; i < 29; ++i) renew(mine);
  EXPECT_EQ(action<CancelAttempt>(), nullptr);

  pass(2s);

  ASSERT_NE(action<CancelAttempt>(), nullptr);
  EXPECT_EQ(action<CancelAttempt>()->why, CancelWhy::drain);
  step(AttemptFinished{mine, true});
  EXPECT_NE(action<SendResult>(), nullptr);
}

TEST_F(AgentTest, StopsAtOnceOnTheSecondTerm) {
  join();
  lease(1, 10);
  step(Terminate{});

  step(Terminate{});

  EXPECT_EQ(action<CancelAttempt>()->why, CancelWhy::stop);
  ASSERT_NE(action<Exit>(), nullptr);
  EXPECT_NE(action<Exit>()->code, 0);
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

TEST_F(AgentTest, GivesWaitingLeasesBackWhenItMustRest) {
  join();
  lease(1, 10);
  lease(2, 11);
  lease(3, 12);
  Capacity resting;
  resting.blocked = "disk";

  step(CapacityChanged{resting});

  ASSERT_NE(sent<ResultMessage>(), nullptr);
  EXPECT_EQ(sent<ResultMessage>()->result.token, Token{12});
  EXPECT_EQ(agent_->status().waiting, 0U);
  EXPECT_EQ(agent_->status().running, 2U);
}

TEST_F(AgentTest, StopsDrainingWhenTheOperatorTakesItBackButNotAfterTerm) {
  join();
  tell(Drain{true, 0});
  EXPECT_TRUE(agent_->status().draining);
  tell(Drain{false, 0});
  EXPECT_FALSE(agent_->status().draining);
  lease(1, 10);
  step(Terminate{});

  tell(Drain{false, 0});

  EXPECT_TRUE(agent_->status().draining);
}

TEST_F(AgentTest, NamesTheNextMomentItNeedsATick) {
  EXPECT_EQ(agent_->next_due(), TimePoint::max());
  join();
  EXPECT_EQ(agent_->next_due(), now_ + 2s);
}

// ---- a coordinator that means no good ---------------------------------------------------------

TEST_F(AgentTest, LeavesACoordinatorOfAnotherProtocol) {
  step(Connected{});
  Welcome welcome;
  welcome.protocol = 99;
  welcome.session = 5;
  welcome.beat = sent<Hello>()->beat;

  tell(welcome);

  ASSERT_NE(action<Exit>(), nullptr);
  EXPECT_EQ(action<Exit>()->code, error_info(Errc::protocol_mismatch).exit_code);
}

TEST_F(AgentTest, NoHeartbeatIsTooShortAndNoLeaseLastsForEver) {
  step(Connected{});
  Welcome welcome;
  welcome.protocol = kProtocolVersionMax;
  welcome.session = 5;
  welcome.heartbeat_ms = 0;
  welcome.lease_ms = UINT32_MAX;
  welcome.beat = sent<Hello>()->beat;
  tell(welcome);
  note_beat();
  Lease message;
  message.spec.id = TaskId{1};
  message.token = Token{10};
  message.beat = beat_;
  message.lease_ms = UINT32_MAX;
  tell(message);
  ASSERT_NE(action<StartAttempt>(), nullptr);

  pass(1ms);
  EXPECT_EQ(sent<Heartbeat>(), nullptr);
  step(Disconnected{});
  pass(2h);

  EXPECT_NE(action<CancelAttempt>(), nullptr) << "a lease that nobody renewed";
}

TEST_F(AgentTest, ThousandsOfLeasesWaitNowhere) {
  join();
  std::size_t started = 0;
  std::size_t refused = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    lease(i, i + 100);
    started += action<StartAttempt>() != nullptr ? 1U : 0U;
    refused += sent<ResultMessage>() != nullptr ? 1U : 0U;
  }

  EXPECT_EQ(started, 2U);
  EXPECT_EQ(agent_->status().running, 2U);
  EXPECT_LE(agent_->status().waiting, 20U);
  EXPECT_EQ(refused, 1000U - agent_->status().running - agent_->status().waiting);
}

}  // namespace
}  // namespace cupel::worker
