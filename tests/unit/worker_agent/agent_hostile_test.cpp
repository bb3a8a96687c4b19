// A coordinator that means no good.
#include "common/core/limits.hpp"
#include "tests/unit/worker_agent/agent_fixture.hpp"

namespace cupel::worker {
namespace {

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
