#include "coordinator/core/scheduler.hpp"

#include <gtest/gtest.h>

#include <map>

namespace cupel::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kSchedulerNow{std::chrono::hours(1)};
const Scheduler::Allows kAll = [](Handle) { return true; };

class SchedulerTest : public ::testing::Test {
 protected:
  Handle campaign(const std::string& owner, std::int32_t priority = 0, std::uint32_t parallel = 0) {
    const Handle handle = next_campaign_++;
    scheduler_.add_campaign(handle, scheduler_.add_owner(owner), priority, parallel);
    return handle;
  }
  Handle push(Handle campaign, Handle preferred = kNoHandle, TimePoint not_before = {}) {
    Task task;
    task.id = TaskId{next_id_++};
    task.campaign = campaign;
    task.preferred = preferred;
    task.state = TaskState::queued;
    task.not_before = not_before;
    task.delayed = not_before > kSchedulerNow;
    const Handle handle = tasks_.add(task);
    scheduler_.push(handle);
    return handle;
  }
  /// The campaign of the task that worker 0 gets and starts; none when there is none.
  Handle start(Handle worker = 0) {
    const auto task = scheduler_.pick(worker, kAll);
    if (!task) return kNoHandle;
    scheduler_.started(tasks_[*task].campaign);
    return tasks_[*task].campaign;
  }

  Pool<Task> tasks_;
  Scheduler scheduler_{tasks_};
  Handle next_campaign_ = 0;
  std::uint64_t next_id_ = 1;
};

TEST_F(SchedulerTest, GivesTheOldestOfOneCampaign) {
  const Handle c = campaign("ann");
  const Handle first = push(c);
  push(c);

  EXPECT_EQ(scheduler_.pick(0, kAll), first);
}

TEST_F(SchedulerTest, PrefersTheLargerPriorityWhateverItsOwnerRuns) {
  const Handle low = campaign("bob", 0);
  const Handle high = campaign("ann", 5);
  push(low);
  push(high);
  push(high);

  EXPECT_EQ(start(), high);
  EXPECT_EQ(start(), high);
  EXPECT_EQ(start(), low);
}

TEST_F(SchedulerTest, SharesSlotsBetweenOwnersHoweverManyCampaignsOneHas) {
  const Handle bob = campaign("bob");
  std::map<Handle, std::string> owner{{bob, "bob"}};
  for (int i = 0; i < 5; ++i) {
    const Handle ann = campaign("ann");
    owner[ann] = "ann";
    for (int t = 0; t < 10; ++t) push(ann);
  }
  for (int t = 0; t < 10; ++t) push(bob);

  std::map<std::string, int> running;
  for (int i = 0; i < 8; ++i) ++running[owner.at(start())];

  EXPECT_EQ(running["ann"], 4);
  EXPECT_EQ(running["bob"], 4);
}

TEST_F(SchedulerTest, SharesTimeBetweenOwnersOnOneSlot) {
  const Handle slow = campaign("ann");
  const Handle quick = campaign("bob");
  for (int i = 0; i < 10; ++i) push(slow);
  for (int i = 0; i < 100; ++i) push(quick);

  std::map<Handle, Duration> served;
  for (int i = 0; i < 44; ++i) {
    const Handle got = start();
    const Duration takes = got == slow ? Duration(10s) : Duration(1s);
    served[got] += takes;
    scheduler_.ended(got, takes);
  }

  // The documented bound: within the longest task of one another.
  EXPECT_LE(std::chrono::abs(served[slow] - served[quick]), Duration(10s));
}

TEST_F(SchedulerTest, OwesNothingToAnOwnerWhoWasAway) {
  const Handle early = campaign("ann");
  for (int i = 0; i < 10; ++i) {
    push(early);
    const Handle got = start();
    scheduler_.ended(got, 100s);
  }
  const Handle late = campaign("bob");
  for (int i = 0; i < 10; ++i) push(early);
  for (int i = 0; i < 10; ++i) push(late);

  int of_late = 0;
  for (int i = 0; i < 8; ++i) {
    const Handle got = start();
    of_late += got == late ? 1 : 0;
    scheduler_.ended(got, 1s);
  }

  EXPECT_EQ(of_late, 4);
}

TEST_F(SchedulerTest, BindsATaskToTheHolderOfItsWorkspace) {
  const Handle c = campaign("ann");
  const Handle bound = push(c, 7);

  EXPECT_EQ(scheduler_.pick(3, kAll), std::nullopt);
  EXPECT_EQ(scheduler_.pick(7, kAll), bound);
}

TEST_F(SchedulerTest, FinishesWhatIsBegunBeforeItBeginsMore) {
  const Handle c = campaign("ann");
  push(c);
  const Handle bound = push(c, 7);

  EXPECT_EQ(scheduler_.pick(7, kAll), bound);
}

TEST_F(SchedulerTest, KeepsACampaignWithinItsMaxParallel) {
  const Handle c = campaign("ann", 0, 2);
  for (int i = 0; i < 3; ++i) push(c);

  EXPECT_EQ(start(), c);
  EXPECT_EQ(start(), c);
  EXPECT_EQ(start(), kNoHandle);
  scheduler_.ended(c, 1s);
  EXPECT_EQ(start(), c);
}

TEST_F(SchedulerTest, GivesNothingOfAPausedCampaignOrOneThatTheWorkerCantRun) {
  const Handle paused = campaign("ann");
  const Handle other = campaign("bob");
  push(paused);
  push(other);
  scheduler_.set_paused(paused, true);

  EXPECT_EQ(scheduler_.pick(0, [&](Handle c) { return c != other; }), std::nullopt);
  scheduler_.set_paused(paused, false);
  EXPECT_EQ(start(), paused);
}

TEST_F(SchedulerTest, KeepsATaskBackUntilItsBackOffIsOver) {
  const Handle c = campaign("ann");
  const Handle later = push(c, kNoHandle, kSchedulerNow + 5s);

  scheduler_.wake(kSchedulerNow + 4s);
  EXPECT_EQ(scheduler_.pick(0, kAll), std::nullopt);
  EXPECT_EQ(scheduler_.next_wake(), kSchedulerNow + 5s);

  scheduler_.wake(kSchedulerNow + 5s);
  EXPECT_EQ(scheduler_.pick(0, kAll), later);
}

TEST_F(SchedulerTest, TakesARemovedTaskOutWhereverItWaits) {
  const Handle c = campaign("ann");
  const Handle first = push(c);
  const Handle middle = push(c);
  const Handle last = push(c);
  const Handle delayed = push(c, kNoHandle, kSchedulerNow + 5s);

  scheduler_.remove(middle);
  scheduler_.remove(delayed);
  scheduler_.remove(first);

  EXPECT_EQ(scheduler_.waiting(), 1U);
  EXPECT_EQ(scheduler_.delayed(), 0U);
  EXPECT_EQ(scheduler_.pick(0, kAll), last);
  EXPECT_FALSE(scheduler_.has_work_for(0));
}

TEST_F(SchedulerTest, KeepsAMillionTasksInAHundredBytesEach) {
  static_assert(sizeof(Task) <= 100);
  const Handle c = campaign("ann");
  for (int i = 0; i < 1'000'000; ++i) push(c, i % 3 == 0 ? 1 : kNoHandle);

  EXPECT_EQ(scheduler_.waiting(), 1'000'000U);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(start(1), kNoHandle);
}

}  // namespace
}  // namespace cupel::coordinator
