// Every step of a promotion, met by kill -9 of a process of its own.
#include "tests/unit/worker_fs/promotion_fixture.hpp"

#include <gmock/gmock.h>

namespace cupel::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(PromotionTest, MakesTheAfterSideReal) {
  auto workspaces = open();
  std::vector<std::string> steps;
  workspaces.set_crash_hook([&](std::string_view step) { steps.emplace_back(step); });
  const auto promoted = workspaces.promote(prepared(workspaces));
  ASSERT_TRUE(promoted) << promoted.error().text();
  EXPECT_THAT(steps,
              ElementsAre("before", "staged", "written", "promoting", "recorded", "promoted"));
  EXPECT_EQ(tests::read_text(promoted->source + "/go.mod"), kBytes);
  EXPECT_FALSE(stdfs::exists(promoted->source + "/gone.go"));
  EXPECT_EQ(promoted->facts.tree, *tree_digest(promoted->source));
  EXPECT_EQ(workspaces.find_unit(kRepository, "c1", kUnit, kSlot)->source, promoted->source);
  EXPECT_FALSE(workspaces.find_unit(kRepository, "c1", kUnit)) << "the before side is another slot";
  EXPECT_THAT(journals(), IsEmpty());
}

TEST_F(PromotionTest, ACrashBeforeTheAfterSideStandsLeavesTheBeforeSide) {
  for (const char* step : {"before", "staged", "written"}) {
    promote_until(step);
    auto workspaces = open();
    EXPECT_TRUE(workspaces.find_source(kRepository, "c1")) << step;
    EXPECT_FALSE(workspaces.find_unit(kRepository, "c1", kUnit, kSlot)) << step;
    EXPECT_THAT(journals(), IsEmpty()) << step;
    EXPECT_EQ(directories(), 1U) << step << ": only the snapshot is kept";
    EXPECT_EQ(workspaces.conflicts(), 0U) << step;
  }
}

TEST_F(PromotionTest, ACrashAfterThatLeavesTheAfterSide) {
  for (const char* step : {"promoting", "recorded", "promoted"}) {
    promote_until(step);
    auto workspaces = open();
    const auto after = workspaces.find_unit(kRepository, "c1", kUnit, kSlot);
    ASSERT_TRUE(after) << step;
    EXPECT_EQ(tests::read_text(after->source + "/go.mod"), kBytes) << step;
    EXPECT_EQ(*tree_digest(after->source), after->facts.tree) << step;
    EXPECT_TRUE(stdfs::is_directory(after->modcache)) << step;
    EXPECT_FALSE(after->acquired) << step;
    EXPECT_THAT(journals(), IsEmpty()) << step;
  }
}

TEST_F(PromotionTest, TheJournalHoldsTheBytes) {
  promote_until("promoting");
  remove_after_snapshot();
  auto workspaces = open();
  const auto after = workspaces.find_unit(kRepository, "c1", kUnit, kSlot);
  ASSERT_TRUE(after) << "made again from the journal";
  EXPECT_EQ(tests::read_text(after->source + "/go.mod"), kBytes);
}

TEST_F(PromotionTest, WhatIsNeitherStops) {
  promote_until("promoting", true);
  auto workspaces = open();
  EXPECT_EQ(workspaces.conflicts(), 1U);
  EXPECT_FALSE(workspaces.find_unit(kRepository, "c1", kUnit, kSlot));
  EXPECT_EQ(journals().size(), 1U) << "kept for people";
  const auto again = workspaces.promote(prepared(workspaces));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::conflict);
}

TEST_F(PromotionTest, ASnapshotThatChangedIsAConflict) {
  auto workspaces = open();
  auto promotion = prepared(workspaces);
  promotion.base_tree = "another";
  const auto promoted = workspaces.promote(promotion);
  ASSERT_FALSE(promoted);
  EXPECT_EQ(promoted.error().code, Errc::conflict);
  EXPECT_THAT(journals(), IsEmpty());
}

TEST_F(PromotionTest, ADamagedJournalStopsAsWell) {
  {
    auto workspaces = open();
  }
  tests::write_text(dir_ / "ws" / "promotions" / "r-1.json", "{\"half");
  auto workspaces = open();
  EXPECT_EQ(workspaces.conflicts(), 1U);
}

TEST_F(PromotionTest, APromotionMadeAgainTakesThePlaceOfTheFirst) {
  auto workspaces = open();
  auto promotion = prepared(workspaces);
  const auto first = workspaces.promote(promotion);
  ASSERT_TRUE(first);
  promotion.workspace.modcache = *workspaces.new_directory("modcache");
  const auto second = workspaces.promote(promotion);
  ASSERT_TRUE(second);
  EXPECT_NE(first->source, second->source);
  EXPECT_THAT(workspaces.evict(1 << 20), IsEmpty());
  EXPECT_FALSE(stdfs::exists(first->source));
  EXPECT_TRUE(stdfs::exists(second->source + "/go.mod"));
}

}  // namespace
}  // namespace cupel::worker
