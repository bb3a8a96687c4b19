#include "worker/core/engine/orphans.hpp"

#include "worker/core/engine/container_spec.hpp"

#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNowS = 1'800'000'000;

ReaperView view(std::set<std::string> live = {}) {
  return {.fleet = FleetId{1},
          .worker = WorkerId{10},
          .incarnation = Incarnation{5},
          .live_runs = std::move(live),
          .now = WallTime{kNowS * 1'000'000},
          .grace = 60s};
}

engine::ContainerSummary container(FleetId fleet, WorkerId worker, std::int64_t deadline_s,
                                   const std::string& state = "running") {
  engine::ContainerSummary summary;
  summary.id = "c1";
  summary.state = state;
  summary.labels = {{"cupel.fleet", fleet.text()},
                    {"cupel.worker", worker.text()},
                    {"cupel.run", "r1"},
                    {"cupel.deadline", std::to_string(deadline_s)}};
  return summary;
}

std::optional<OrphanReason> reason_of(const engine::ContainerSummary& one, const ReaperView& view) {
  const auto orphans = find_orphans({one}, view);
  if (orphans.empty()) return std::nullopt;
  return orphans.front().reason;
}

TEST(FindOrphans, OurOwnThatNobodyRunsIsOneInEveryState) {
  for (const char* const state :
       {"created", "running", "paused", "restarting", "removing", "exited", "dead"}) {
    const auto one = container(FleetId{1}, WorkerId{10}, kNowS + 100, state);
    EXPECT_EQ(reason_of(one, view()), OrphanReason::own_not_live) << state;
  }
}

TEST(FindOrphans, OurOwnThatRunsIsNoneUntilItsDeadline) {
  EXPECT_EQ(reason_of(container(FleetId{1}, WorkerId{10}, kNowS + 1), view({"r1"})), std::nullopt);
  EXPECT_EQ(reason_of(container(FleetId{1}, WorkerId{10}, kNowS - 1), view({"r1"})),
            OrphanReason::own_past_deadline);
}

TEST(FindOrphans, AnotherWorkersIsOneOnlyPastDeadlineAndGrace) {
  EXPECT_EQ(reason_of(container(FleetId{1}, WorkerId{20}, kNowS + 1), view()), std::nullopt);
  EXPECT_EQ(reason_of(container(FleetId{1}, WorkerId{20}, kNowS - 59), view()), std::nullopt);
  EXPECT_EQ(reason_of(container(FleetId{1}, WorkerId{20}, kNowS - 61), view()),
            OrphanReason::other_past_deadline);
}

TEST(FindOrphans, AnotherFleetIsNeverTouched) {
  EXPECT_EQ(reason_of(container(FleetId{2}, WorkerId{10}, kNowS - 9999), view()), std::nullopt);
}

TEST(FindOrphans, WhatHasNoReadableLabelsIsNeverTouched) {
  for (const char* const key : {"cupel.fleet", "cupel.worker", "cupel.run", "cupel.deadline"}) {
    auto one = container(FleetId{1}, WorkerId{10}, kNowS - 9999);
    one.labels.erase(key);
    EXPECT_EQ(reason_of(one, view()), std::nullopt) << key;
  }
  auto odd = container(FleetId{1}, WorkerId{10}, 0);
  odd.labels["cupel.deadline"] = "soon";
  EXPECT_EQ(reason_of(odd, view()), std::nullopt);
}

TEST(FindOrphans, TheOldestComesFirstWithItsState) {
  auto young = container(FleetId{1}, WorkerId{10}, kNowS + 100, "running");
  auto old = container(FleetId{1}, WorkerId{10}, kNowS + 100, "exited");
  young.id = "young";
  young.created_s = 20;
  old.id = "old";
  old.created_s = 10;

  const auto orphans = find_orphans({young, old}, view());

  ASSERT_EQ(orphans.size(), 2U);
  EXPECT_EQ(orphans[0].container_id, "old");
  EXPECT_EQ(orphans[0].state, "exited");
  EXPECT_EQ(orphans[1].container_id, "young");
}

TEST(MayRun, OnlyWhatWasNeverStartedOrHasEndedCant) {
  for (const char* const still : {"created", "exited", "dead"}) EXPECT_FALSE(may_run(still));
  for (const char* const other : {"running", "paused", "restarting", "removing", "", "new word"}) {
    EXPECT_TRUE(may_run(other)) << other;
  }
}

TEST(StillOrphan, ARunThatBeganAfterTheListIsSpared) {
  const auto one = container(FleetId{1}, WorkerId{10}, kNowS + 100);
  EXPECT_TRUE(still_orphan(one.labels, view()));
  EXPECT_FALSE(still_orphan(one.labels, view({"r1"})));
}

}  // namespace
}  // namespace cupel::worker
