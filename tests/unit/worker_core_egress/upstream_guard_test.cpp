#include "worker/core/egress/upstream_guard.hpp"

#include <gtest/gtest.h>

namespace cupel::worker::egress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kGuardStart{seconds(1000)};
constexpr GuardLimits kLimits{.per_second = 10,
                              .burst = 5,
                              .failures = 3,
                              .pause = seconds(10),
                              .pause_max = seconds(40),
                              .retry_after_max = seconds(60)};

TEST(UpstreamGuard, ABurstThenTheRateAndEachHostForItself) {
  UpstreamGuard guard(kLimits);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(guard.permit("a", kGuardStart), Duration{});
  const Duration wait = guard.permit("a", kGuardStart);
  EXPECT_EQ(wait, milliseconds(100));
  EXPECT_EQ(guard.permit("b", kGuardStart), Duration{});
  EXPECT_EQ(guard.permit("a", kGuardStart + wait), Duration{});
  EXPECT_GT(guard.permit("a", kGuardStart + wait), Duration{});
  int passed = 0;
  for (int ms = 200; ms < 10'200; ms += 10) {
    if (guard.permit("a", kGuardStart + milliseconds(ms)) == Duration{}) ++passed;
  }
  EXPECT_NEAR(passed, 100, 6);
}

TEST(UpstreamGuard, AHostsOwnWordIsKept) {
  UpstreamGuard guard(kLimits);
  EXPECT_EQ(guard.permit("a", kGuardStart), Duration{});
  guard.answered("a", 429, "7", kGuardStart);
  EXPECT_EQ(guard.permit("a", kGuardStart), seconds(7));
  EXPECT_FALSE(guard.open("a", kGuardStart)) << "one answer is no outage";
  EXPECT_EQ(guard.permit("a", kGuardStart + seconds(7)), Duration{});
  guard.answered("a", 503, "86400", kGuardStart + seconds(7));
  EXPECT_EQ(guard.permit("a", kGuardStart + seconds(7)), seconds(60)) << "cut";
}

TEST(UpstreamGuard, TheBreakerOpensProbesOnceAndClosesOnSuccess) {
  UpstreamGuard guard(kLimits);
  TimePoint now = kGuardStart;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(guard.permit("a", now), Duration{});
    EXPECT_FALSE(guard.closed_for(now));
    guard.failed("a", now);
  }
  EXPECT_TRUE(guard.open("a", now));
  EXPECT_EQ(guard.closed_for(now), seconds(10));
  EXPECT_EQ(guard.permit("a", now), seconds(10));
  now += seconds(10);
  EXPECT_FALSE(guard.closed_for(now)) << "work that needs it may begin";
  EXPECT_EQ(guard.permit("a", now), Duration{}) << "the probe";
  EXPECT_GT(guard.permit("a", now), Duration{}) << "and nobody else";
  guard.answered("a", 502, "", now);
  EXPECT_EQ(guard.permit("a", now), seconds(20)) << "twice as long";
  now += seconds(20);
  EXPECT_EQ(guard.permit("a", now), Duration{});
  guard.answered("a", 404, "", now);
  EXPECT_FALSE(guard.open("a", now)) << "a missing module is an answer";
  EXPECT_EQ(guard.permit("a", now), Duration{});
  EXPECT_EQ(guard.permit("a", now), Duration{});
}

TEST(UpstreamGuard, ThePauseHasAnEnd) {
  UpstreamGuard guard(kLimits);
  TimePoint now = kGuardStart;
  for (int i = 0; i < 30; ++i) {
    const Duration wait = guard.permit("a", now);
    EXPECT_LE(wait, seconds(40));
    now += wait;
    if (wait == Duration{}) guard.failed("a", now);
  }
}

TEST(UpstreamGuard, FailuresBetweenSuccessesOpenNothing) {
  UpstreamGuard guard(kLimits);
  TimePoint now = kGuardStart;
  for (int i = 0; i < 50; ++i, now += seconds(1)) {
    EXPECT_EQ(guard.permit("a", now), Duration{});
    i % 3 == 2 ? guard.answered("a", 200, "", now) : guard.failed("a", now);
  }
}

TEST(UpstreamGuard, OneHostThatAnswersKeepsWorkGoing) {
  UpstreamGuard guard(kLimits);
  for (int i = 0; i < 3; ++i) {
    (void)guard.permit("a", kGuardStart);
    guard.failed("a", kGuardStart);
  }
  (void)guard.permit("b", kGuardStart);
  EXPECT_FALSE(guard.closed_for(kGuardStart));
  EXPECT_FALSE(UpstreamGuard(kLimits).closed_for(kGuardStart));
}

TEST(RetryAfter, SecondsOrNothing) {
  EXPECT_EQ(parse_retry_after("120"), seconds(120));
  EXPECT_EQ(parse_retry_after("0"), seconds(0));
  for (const char* const text :
       {"", "-1", "1.5", "x", "12 ", "99999999999", "Fri, 31 Dec 1999 23:59:59 GMT"}) {
    EXPECT_FALSE(parse_retry_after(text)) << text;
  }
}

}  // namespace
}  // namespace cupel::worker::egress
