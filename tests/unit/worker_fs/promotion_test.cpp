// Every step of a promotion, met by kill -9 of a process of its own.
#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/fs/workspaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr RepositoryId kRepository{7};
constexpr UnitId kUnit{11};
constexpr WorkspaceSlot kSlot = 1;
constexpr const char* kBytes = "module m\n\ngo 1.26\n\n// \xff and 100%\n";

class PromotionTest : public testing::Test {
 protected:
  Workspaces open() {
    auto opened = Workspaces::open((dir_ / "ws").string());
    if (!opened) throw std::runtime_error(opened.error().text());
    return *std::move(opened);
  }

  /// A recorded snapshot, and an after side to be promoted.
  Promotion prepared(Workspaces& workspaces) {
    const std::string parent = *workspaces.new_directory("source");
    tests::write_text(stdfs::path(parent) / "s" / "go.mod", "module m\n\ngo 1.24\n");
    tests::write_text(stdfs::path(parent) / "s" / "gone.go", "package m\n");
    SourceWorkspace source;
    source.snapshot = parent + "/s";
    source.facts.commit = "c1";
    source.facts.tree = *tree_digest(source.snapshot);
    EXPECT_TRUE(workspaces.record_source(kRepository, source).has_value());
    Promotion promotion;
    promotion.repository = kRepository;
    promotion.commit = "c1";
    promotion.unit = kUnit;
    promotion.slot = kSlot;
    promotion.base = source.snapshot;
    promotion.base_tree = source.facts.tree;
    promotion.edits = {{"go.mod", FileEdit{kBytes, false}}, {"gone.go", FileEdit{}}};
    promotion.workspace.modcache = *workspaces.new_directory("modcache");
    promotion.workspace.acquired = false;
    return promotion;
  }

  /// Promotes in a child process that is killed at the step.
  void promote_until(const std::string& step, bool disturb_base = false) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto workspaces = open();
      Promotion promotion = prepared(workspaces);
      workspaces.set_crash_hook([&](std::string_view at) {
        if (at != step) return;
        if (disturb_base) disturb(promotion.base);
        ::kill(::getpid(), SIGKILL);
      });
      (void)workspaces.promote(promotion);
      ::_exit(0);  // the step was never reached
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "no step " << step;
  }

  /// The base is another tree, and the after snapshot is lost.
  void disturb(const std::string& base) {
    tests::write_text(stdfs::path(base) / "go.mod", "module other\n");
    for (const auto& entry : stdfs::directory_iterator(dir_ / "ws" / "data")) {
      const bool source = entry.path().filename().string().starts_with("source-");
      if (source && !base.starts_with(entry.path().string())) (void)fs::remove_tree(entry.path());
    }
  }

  std::vector<std::string> journals() {
    std::vector<std::string> names;
    for (const auto& entry : stdfs::directory_iterator(dir_ / "ws" / "promotions")) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  std::size_t directories() {
    std::size_t count = 0;
    for (const auto& entry : stdfs::directory_iterator(dir_ / "ws" / "data")) {
      count += entry.is_directory() ? 1U : 0U;
    }
    return count;
  }

  tests::TempDir dir_;
};

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
  for (const char* step : {"promoting", "recorded"}) {
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
  for (const auto& entry : stdfs::directory_iterator(dir_ / "ws" / "data")) {
    // The after snapshot is the only one without the file that the change removes.
    const auto name = entry.path().filename().string();
    bool base = false;
    for (const auto& below : stdfs::recursive_directory_iterator(entry.path())) {
      base = base || below.path().filename() == "gone.go";
    }
    if (name.starts_with("source-") && !base) (void)fs::remove_tree(entry.path());
  }
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
