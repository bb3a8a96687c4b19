#include "coordinator/core/fleet.hpp"

#include "common/core/limits.hpp"
#include "coordinator/core/leases.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator {
namespace {

using namespace std::chrono_literals;
using Greeting = Fleet::Greeting;

constexpr TimePoint kNow{std::chrono::hours(1)};

Hello hello(std::uint64_t id, std::uint64_t incarnation = 1, std::uint64_t beat = 1) {
  Hello message;
  message.protocol_min = kProtocolVersionMin;
  message.protocol_max = kProtocolVersionMax;
  message.worker = WorkerId{id};
  message.incarnation = Incarnation{incarnation};
  message.capacity.slots = 2;
  message.beat = beat;
  return message;
}

class FleetTest : public ::testing::Test {
 protected:
  FleetTest() { fleet_.set_trust({{"k1", "one", {}}, {"k2", "two", {}}}); }
  Handle join(const std::string& key, const Hello& message, TimePoint now = kNow) {
    const auto greeted = fleet_.greet(key, message, now);
    EXPECT_EQ(greeted.greeting, Greeting::welcome);
    fleet_.begin_session(greeted.worker, 1, key + "-route", message, {now, {}});
    return greeted.worker;
  }
  Fleet fleet_{FleetSettings{}};
};

TEST_F(FleetTest, KnowsNobodyWhoIsNotTrusted) {
  EXPECT_EQ(fleet_.greet("k9", hello(5), kNow).greeting, Greeting::not_trusted);
}

TEST_F(FleetTest, RefusesAVersionItDoesNotSpeak) {
  Hello message = hello(5);
  message.protocol_min = message.protocol_max = kProtocolVersionMax + 1;

  EXPECT_EQ(fleet_.greet("k1", message, kNow).greeting, Greeting::version);
}

TEST_F(FleetTest, BindsAWorkerIdToItsKey) {
  join("k1", hello(5));

  EXPECT_EQ(fleet_.greet("k2", hello(5), kNow).greeting, Greeting::lie);
  EXPECT_EQ(fleet_.greet("k1", hello(6, 1, 2), kNow).greeting, Greeting::lie);
  EXPECT_EQ(fleet_.greet("k2", hello(0), kNow).greeting, Greeting::lie);
}

TEST_F(FleetTest, GivesAnIdToANewKeyOnceTheOldOneIsOffTheList) {
  join("k1", hello(5));
  fleet_.set_trust({{"k2", "two", {}}});

  EXPECT_EQ(fleet_.greet("k2", hello(5, 2), kNow + 10s).greeting, Greeting::welcome);
}

TEST_F(FleetTest, LetsASecondProcessInOnlyAfterTwoSilentHeartbeats) {
  join("k1", hello(5, 1));

  const auto early = fleet_.greet("k1", hello(5, 2), kNow + 3s);
  const auto late = fleet_.greet("k1", hello(5, 2), kNow + 4s);

  EXPECT_EQ(early.greeting, Greeting::duplicate);
  EXPECT_EQ(early.retry_after, 1s);
  EXPECT_EQ(late.greeting, Greeting::welcome);
  EXPECT_FALSE(late.same_process);
}

TEST_F(FleetTest, NeverTakesBackAProcessThatGaveWay) {
  join("k1", hello(5, 1));
  join("k1", hello(5, 2), kNow + 5s);

  EXPECT_EQ(fleet_.greet("k1", hello(5, 1, 99), kNow + 60s).greeting, Greeting::replaced);
}

TEST_F(FleetTest, IgnoresALateCopyOfAHello) {
  join("k1", hello(5, 1, 7));

  EXPECT_EQ(fleet_.greet("k1", hello(5, 1, 7), kNow).greeting, Greeting::stale);
  EXPECT_EQ(fleet_.greet("k1", hello(5, 1, 8), kNow).greeting, Greeting::welcome);
}

TEST_F(FleetTest, CountsStoppingAttemptsAsUsedSlots) {
  const Handle handle = join("k1", hello(5));
  fleet_[handle].leases.insert(TaskId{1});
  fleet_[handle].stopping.insert(Token{9});

  EXPECT_EQ(fleet_.free_slots(fleet_[handle]), 0U);
}

TEST_F(FleetTest, BelievesNoMoreSlotsThanItsOwnLimit) {
  Hello message = hello(5);
  message.capacity.slots = 4'000'000'000U;

  EXPECT_EQ(fleet_.free_slots(fleet_[join("k1", message)]), FleetSettings{}.slots_per_worker_max);
}

TEST_F(FleetTest, GivesNoWorkToASilentDrainingOrRestingWorker) {
  const Handle handle = join("k1", hello(5));
  Worker& worker = fleet_[handle];
  worker.welcomed = true;

  EXPECT_TRUE(fleet_.may_get_work(worker, kNow));
  EXPECT_FALSE(fleet_.may_get_work(worker, kNow + 5s));
  fleet_.set_drain(handle, true, {}, {kNow, {}});
  EXPECT_FALSE(fleet_.may_get_work(worker, kNow));
  fleet_.set_drain(handle, false, {}, {kNow, {}});
  Capacity resting = worker.capacity;
  resting.blocked = "disk";
  fleet_.set_capacity(handle, resting, kNow);
  EXPECT_FALSE(fleet_.may_get_work(worker, kNow));
}

TEST_F(FleetTest, CountsAHolderAsGoneAfterItsGraceOrWithItsKey) {
  const Handle handle = join("k1", hello(5));
  fleet_.end_session(handle, kNow);

  EXPECT_FALSE(fleet_.holder_gone(fleet_[handle], kNow + 119s));
  EXPECT_TRUE(fleet_.holder_gone(fleet_[handle], kNow + 120s));
  fleet_.set_trust({});
  EXPECT_TRUE(fleet_.holder_gone(fleet_[handle], kNow));
}

TEST_F(FleetTest, WantsAWorkerInQuarantineOnceHalfOfItsAttemptsFail) {
  const Handle handle = join("k1", hello(5));
  for (int i = 0; i < 6; ++i)
    EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, false, kNow));
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow + 1s)) << i;

  EXPECT_TRUE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow + 2s));
}

TEST_F(FleetTest, FetchingWellDoesNotMakeUpForFailingToExecute) {
  const Handle handle = join("k1", hello(5));
  for (int i = 0; i < 40; ++i)
    EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::acquire, false, kNow));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow));
    // Lost with several kinds of work, so it counts for none of them.
    EXPECT_FALSE(fleet_.attempt_ended(handle, std::nullopt, true, kNow));
  }

  const auto failing = fleet_.attempt_ended(handle, TaskKind::execute, true, kNow);

  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->kind, TaskKind::execute);
  EXPECT_EQ(failing->counts.failed, 5U);
  EXPECT_EQ(failing->counts.all, 5U);
  fleet_.set_quarantine(handle, Quarantine::automatic, "broken", {kNow, {}});
  fleet_.end_quarantine(handle, kNow);
  EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow));
}

TEST_F(FleetTest, ForgetsFailuresThatAreOlderThanTheWindow) {
  const Handle handle = join("k1", hello(5));
  for (int i = 0; i < 4; ++i)
    EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow));

  EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow + 10min));
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow + 11min));
  EXPECT_TRUE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow + 12min));
}

TEST_F(FleetTest, TwoFailuresOfTwoAreTooFewToSayAnything) {
  const Handle handle = join("k1", hello(5));

  EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow));
  EXPECT_FALSE(fleet_.attempt_ended(handle, TaskKind::execute, true, kNow));
}

TEST_F(FleetTest, DoublesThePauseBeforeTheNextProbeUpToSixteenTimes) {
  const Handle handle = join("k1", hello(5));
  Worker& worker = fleet_[handle];
  worker.welcomed = true;
  fleet_.set_quarantine(handle, Quarantine::automatic, "broken", {kNow, {}});
  EXPECT_FALSE(fleet_.may_get_work(worker, kNow));
  EXPECT_EQ(worker.probe_due, kNow + 60s);

  for (const auto pause : {120s, 240s, 480s, 960s, 960s}) {
    fleet_.probe_failed(handle, "still broken", {kNow, {}});
    EXPECT_EQ(worker.probe_due, kNow + pause);
  }
  fleet_.end_quarantine(handle, kNow);
  EXPECT_TRUE(fleet_.may_get_work(worker, kNow));
}

TEST_F(FleetTest, AQuarantineSoonAfterTheLastOneGoesOnWhereThatStopped) {
  const Handle handle = join("k1", hello(5));
  fleet_.set_quarantine(handle, Quarantine::automatic, "broken", {kNow, {}});
  fleet_.end_quarantine(handle, kNow + 1min);

  fleet_.set_quarantine(handle, Quarantine::automatic, "broken", {kNow + 2min, {}});
  EXPECT_EQ(fleet_[handle].probe_due, kNow + 2min + 120s);
  fleet_.end_quarantine(handle, kNow + 3min);
  fleet_.set_quarantine(handle, Quarantine::automatic, "broken", {kNow + 13min, {}});
  EXPECT_EQ(fleet_[handle].probe_due, kNow + 13min + 60s);
}

TEST_F(FleetTest, KeepsItsOrdersOverARestart) {
  const Handle handle = join("k1", hello(5));
  fleet_.set_drain(handle, true, 10min, {kNow, {1'000'000'000}});
  fleet_.set_quarantine(handle, Quarantine::automatic, "broken", {kNow, {1'000'000'000}});
  Fleet later{FleetSettings{}};
  constexpr TimePoint kLater{std::chrono::hours(7)};
  const Handle again = later.restore(WorkerSeen{WorkerId{5}, "one", "k1", "", "", {}}, kLater);

  later.restore(fleet_.controls(handle), {kLater, {1'020'000'000}});

  EXPECT_TRUE(later[again].drain);
  EXPECT_EQ(later[again].drain_until, kLater + 580s);
  EXPECT_EQ(later[again].quarantine, Quarantine::automatic);
  EXPECT_EQ(later[again].quarantine_why, "broken");
  EXPECT_EQ(later[again].probe_due, kLater + 40s);
}

TEST_F(FleetTest, BoundsTheRateOfOneKeyAndOfNoOther) {
  int passed = 0;
  for (int i = 0; i < 10'000; ++i) passed += fleet_.within_rate("k1", kNow) ? 1 : 0;

  EXPECT_EQ(passed, 2000);
  EXPECT_TRUE(fleet_.within_rate("k2", kNow));
  EXPECT_TRUE(fleet_.within_rate("k1", kNow + 1s));
}

TEST(Sequence, ReservesABlockBeforeItHandsOutANumber) {
  Sequence sequence(100, 10);

  EXPECT_EQ(sequence.take(), 101U);
  EXPECT_EQ(sequence.reserved(), 110U);
  EXPECT_TRUE(sequence.grew());
  for (int i = 0; i < 9; ++i) (void)sequence.take();
  EXPECT_FALSE(sequence.grew());
  EXPECT_EQ(sequence.take(), 111U);
  EXPECT_TRUE(sequence.grew());
}

TEST(AcceptedResults, ForgetsTheOldestFirst) {
  AcceptedResults accepted(2);
  accepted.add(Token{1}, 7, 10);
  accepted.add(Token{2}, 7, 11);
  accepted.add(Token{3}, 7, 12);

  EXPECT_EQ(accepted.find(Token{1}, 7), std::nullopt);
  EXPECT_EQ(accepted.find(Token{2}, 7), 11U);
  EXPECT_EQ(accepted.find(Token{3}, 7), 12U);
  EXPECT_EQ(accepted.find(Token{3}, 8), std::nullopt) << "another worker's";
}

}  // namespace
}  // namespace cupel::coordinator
