// Workers with a good key and bad manners.
#include "common/core/task_life.hpp"
#include "tests/unit/coordinator_core/machine_fixture.hpp"

namespace cupel::coordinator {
namespace {

class MachineAbuseTest : public MachineTest {
 protected:
  /// Renews every four seconds, with a Tick each, until the coordinator says that it is lost.
  Duration hold_for_ever(const std::string& key, const LiveLease& lease) {
    Duration held{};
    for (;;) {
      pass(4s);
      held += 4s;
      step(Tick{});
      heartbeat(key, {lease});
      if (!last<HeartbeatAck>(key).lost.empty()) return held;
    }
  }
};

TEST_F(MachineAbuseTest, RenewalsEndAtTheTasksOwnLimit) {
  join("k1", 11);
  join("k2", 12, 0);
  submit();
  const Lease lease = last<Lease>("k1");

  const Duration held = hold_for_ever("k1", live(lease));

  const Duration life = task_life(lease.spec.work, lease.spec.settings);
  EXPECT_GE(held, life);
  EXPECT_LE(held, life + 60s);
  EXPECT_EQ(machine_.counters().leases_overrun, 1U);
  EXPECT_EQ(last<CancelTask>("k1").lease, live(lease));
  EXPECT_EQ(written<TaskReturned>().size(), 1U);
  EXPECT_EQ(written<TaskReturned>()[0].interruptions, 1U);
  // Its late result changes nothing, and the slot that it claims stays taken.
  from("k1", ResultMessage{acquired(lease)});
  EXPECT_FALSE(last<ResultAck>("k1").accepted);
}

TEST_F(MachineAbuseTest, AWorkerThatHoardsATaskIsQuarantined) {
  join("k1", 11);
  submit({git("a")}, 50);

  hold_for_ever("k1", live(last<Lease>("k1")));

  EXPECT_EQ(machine_.workers()[0].state, WorkerState::quarantined);
}

TEST_F(MachineAbuseTest, AnothersTokenDoesNotLiftTheRate) {
  join("k1", 11);
  join("k2", 12, 0);
  submit();
  const Lease lease = last<Lease>("k1");
  TaskResult guess = acquired(lease);

  for (int i = 0; i < 20'000; ++i) from("k2", ResultMessage{guess});

  EXPECT_GT(machine_.counters().rate_limited, 9'000U);
  EXPECT_GT(machine_.counters().fenced_results, 0U);
  from("k1", ResultMessage{guess});
  EXPECT_TRUE(last<ResultAck>("k1").accepted);
}

TEST_F(MachineAbuseTest, AnothersAcceptedTokenIsNoSecret) {
  join("k1", 11);
  join("k2", 12, 0);
  submit();
  const Lease lease = last<Lease>("k1");
  from("k1", ResultMessage{acquired(lease)});

  from("k2", ResultMessage{acquired(lease)});

  EXPECT_FALSE(last<ResultAck>("k2").accepted);
  EXPECT_EQ(machine_.counters().results_repeated, 0U);
}

TEST_F(MachineAbuseTest, HellosCostMoreOfTheRateThanOtherMessages) {
  for (int i = 0; i < 5'000; ++i) join("k1", 11);

  EXPECT_LE(machine_.counters().sessions_accepted, 1'001U);
  EXPECT_GE(machine_.counters().rate_limited, 3'999U);
}

TEST(TaskLife, SaturatesInsteadOfOverflowing) {
  ValidationSettings absurd;
  absurd.check_limit_s = UINT64_MAX;
  absurd.test.timeout_s = UINT64_MAX;
  absurd.acquire_limit_s = UINT64_MAX;
  absurd.custom = {{"a", {"x"}, UINT64_MAX}, {"b", {"x"}, UINT64_MAX}};

  EXPECT_EQ(task_life(Execute{}, absurd), std::chrono::hours(24 * 365));
  EXPECT_EQ(task_life(AcquireModules{}, absurd), std::chrono::hours(24 * 365));
}

}  // namespace
}  // namespace cupel::coordinator
