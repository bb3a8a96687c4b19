#include "coordinator/core/result_gather.hpp"

#include "tests/unit/coordinator_core/machine_fixture.hpp"

namespace cupel::coordinator {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const TimePoint kStart = TimePoint{} + std::chrono::hours(1);

TEST(ResultGather, LetsTheFirstResultAfterAPauseWaitForNothing) {
  ResultGather gather;

  EXPECT_EQ(gather.wait(kStart, true), Duration::zero());
  EXPECT_EQ(gather.wait(kStart + milliseconds(5), true), Duration::zero());
}

TEST(ResultGather, LetsAResultThatFollowsSoonWaitForThoseBehindIt) {
  ResultGather gather;
  static_cast<void>(gather.wait(kStart, true));

  EXPECT_EQ(gather.wait(kStart + microseconds(40), true), ResultGather::kWait);
  EXPECT_EQ(gather.wait(kStart + microseconds(900), true), ResultGather::kWait);
}

TEST(ResultGather, WaitsForNothingWhenNoLeaseIsLeft) {
  ResultGather gather;
  static_cast<void>(gather.wait(kStart, true));

  EXPECT_EQ(gather.wait(kStart + microseconds(40), false), Duration::zero());
}

TEST_F(MachineTest, AwaitsResultsWhileALeaseIsLive) {
  join("k1", 11);
  EXPECT_FALSE(machine_.awaits_results());
  submit();
  EXPECT_TRUE(machine_.awaits_results());

  TaskResult gone = passing(last<Lease>("k1"));
  gone.outcome = Outcome::refused;
  gone.reason = Reason::repository_not_found;
  from("k1", ResultMessage{gone});

  EXPECT_FALSE(machine_.awaits_results());
}

}  // namespace
}  // namespace cupel::coordinator
