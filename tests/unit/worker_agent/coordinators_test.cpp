#include "worker/core/agent/coordinators.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cupel::worker {
namespace {

using std::chrono::milliseconds;

const TimePoint kStart{std::chrono::seconds(100)};

CoordinatorsSettings pair(std::uint64_t random = 1) {
  return {.count = 2, .random = random};
}

/// Ticks until it moves; how long that took.
Duration until_move(Coordinators& coordinators, TimePoint& now) {
  const TimePoint from = now;
  while (!coordinators.tick(false, true, now)) now += milliseconds(10);
  return now - from;
}

TEST(Coordinators, AnOnlyOneThatTurnsItAwayIsNotLeft) {
  Coordinators one({.count = 1}, kStart);
  for (int s = 0; s < 600; ++s) {
    const TimePoint now = kStart + std::chrono::seconds(s);
    one.heard(now);
    one.turned_away(now);
    EXPECT_FALSE(one.tick(false, true, now));
  }
}

TEST(Coordinators, AnOnlyOneThatIsNotReachedIsTriedByTheLinkItself) {
  Coordinators one({.count = 1}, kStart);
  for (int s = 0; s < 600; ++s) {
    EXPECT_FALSE(one.tick(false, false, kStart + std::chrono::seconds(s)));
  }
}

TEST(Coordinators, AConnectionToAnOnlyOneThatSaysNothingIsMadeAnewMoreAndMoreSeldom) {
  Coordinators one({.count = 1, .random = 1}, kStart);
  TimePoint now = kStart + std::chrono::hours(1);
  EXPECT_FALSE(one.tick(true, true, now));
  Duration before{};
  for (int i = 0; i < 12; ++i) {
    const Duration silence = until_move(one, now);
    EXPECT_GE(silence, milliseconds(5'000));
    EXPECT_LE(silence, milliseconds(37'500));
    EXPECT_EQ(one.current(), 0U);
    before = silence;
  }
  EXPECT_GE(before, milliseconds(29'000));
  EXPECT_FALSE(one.tick(true, true, now));
  EXPECT_LE(until_move(one, now), milliseconds(6'300)) << "a session begins the count anew";
}

TEST(Coordinators, WhereThereIsASessionItStays) {
  Coordinators two(pair(), kStart);
  for (int s = 0; s < 600; ++s)
    EXPECT_FALSE(two.tick(true, true, kStart + std::chrono::seconds(s)));
  EXPECT_EQ(two.current(), 0U);
}

TEST(Coordinators, ASilentOneIsLeftAfterASecondOrSo) {
  Coordinators two(pair(), kStart);
  TimePoint now = kStart;
  EXPECT_GE(until_move(two, now), milliseconds(900));
  EXPECT_EQ(two.current(), 1U);
  EXPECT_LE(until_move(two, now), milliseconds(2'000));
  EXPECT_EQ(two.current(), 0U);
}

TEST(Coordinators, ALostSessionIsMissedForASecondOnly) {
  Coordinators two(pair(), kStart);
  TimePoint now = kStart + std::chrono::hours(1);
  EXPECT_FALSE(two.tick(true, true, now));
  EXPECT_LE(until_move(two, now), milliseconds(1'300));
}

TEST(Coordinators, OneThatTurnsItAwayIsLeftAtOnceAndTheLastOfARoundAfterAPause) {
  Coordinators two(pair(), kStart);
  TimePoint now = kStart;
  two.turned_away(now);
  EXPECT_EQ(until_move(two, now), Duration::zero());
  two.turned_away(now);
  const Duration pause = until_move(two, now);
  EXPECT_GE(pause, milliseconds(490));
  EXPECT_LE(pause, milliseconds(700));
}

TEST(Coordinators, ANewLeaderIsFoundWithinSecondsHoweverLongThereWasNone) {
  for (std::uint64_t random = 0; random < 50; ++random) {
    Coordinators two(pair(random), kStart);
    TimePoint now = kStart;
    while (now < kStart + std::chrono::hours(1)) until_move(two, now);
    const TimePoint leads = now;  // each of them, in turn, begins to lead at the worst moment
    until_move(two, now);
    until_move(two, now);
    EXPECT_LE(now - leads, std::chrono::seconds(15));
  }
}

TEST(Coordinators, AFleetDoesNotMoveAtOneMoment) {
  std::set<Duration> moments;
  for (std::uint64_t random = 0; random < 100; ++random) {
    Coordinators two(pair(random * 7919), kStart);
    TimePoint now = kStart;
    until_move(two, now);
    until_move(two, now);
    moments.insert(now - kStart);
  }
  EXPECT_GT(moments.size(), 10U);
}

}  // namespace
}  // namespace cupel::worker
