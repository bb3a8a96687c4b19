// An agent that is to do less, or nothing any more.
#include "tests/unit/worker_agent/agent_fixture.hpp"

namespace cupel::worker {
namespace {

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

TEST_F(AgentTest, SaysAtOnceThatItTakesWorkAndThatItDoesNot) {
  restart({}, 0);
  join();
  Capacity open;
  open.slots = 2;

  step(CapacityChanged{open});
  ASSERT_NE(sent<Heartbeat>(), nullptr);
  EXPECT_EQ(sent<Heartbeat>()->capacity.slots, 2U);

  open.slots = 1;
  step(CapacityChanged{open});
  EXPECT_EQ(sent<Heartbeat>(), nullptr);

  step(CapacityChanged{Capacity{}});
  ASSERT_NE(sent<Heartbeat>(), nullptr);
  EXPECT_EQ(sent<Heartbeat>()->capacity.slots, 0U);
  step(Tick{});
  EXPECT_EQ(sent<Heartbeat>(), nullptr);
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

}  // namespace
}  // namespace cupel::worker
