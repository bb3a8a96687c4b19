#include "worker/fs/workspaces.hpp"

#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr RepositoryId kRepository{7};
constexpr UnitId kUnit{11};

class WorkspacesTest : public testing::Test {
 protected:
  Workspaces open() {
    auto opened = Workspaces::open((dir_ / "ws").string());
    if (!opened) throw std::runtime_error(opened.error().text());
    return *std::move(opened);
  }
  static std::string filled(Workspaces& workspaces, const std::string& what) {
    const std::string dir = *workspaces.new_directory(what);
    tests::write_text(stdfs::path(dir) / "x", "x");
    return dir;
  }
  static SourceWorkspace source(Workspaces& workspaces, const std::string& commit,
                                std::uint64_t bytes = 100) {
    SourceWorkspace source;
    source.snapshot = filled(workspaces, "source");
    source.facts.commit = commit;
    source.facts.tree = "t";
    source.facts.bytes = bytes;
    return source;
  }

  tests::TempDir dir_;
};

TEST_F(WorkspacesTest, IsPrivateAndItsDirectoriesAreUnique) {
  auto workspaces = open();
  const auto first = workspaces.new_directory("source");
  const auto second = workspaces.new_directory("source");
  EXPECT_NE(*first, *second);
  struct stat info{};
  ::lstat((dir_ / "ws").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(WorkspacesTest, RemembersAcrossRestarts) {
  SourceWorkspace before;
  UnitWorkspace unit;
  {
    auto workspaces = open();
    before = source(workspaces, "c1");
    before.facts.units.push_back(
        {"sub", "ex.test/sub", "1.24", true, "go.work", Outcome::refused, Reason::bad_go_mod, {}});
    before.notes.lfs_pointers = {"caf\xe9", "100%", "a\nb"};
    before.notes.submodules = {"third"};
    ASSERT_TRUE(workspaces.record_source(kRepository, before).has_value());
    unit.source = before.snapshot;
    unit.modcache = filled(workspaces, "modcache");
    unit.facts.modules = 3;
    unit.facts.completed = true;
    unit.uncompleted = {{"caf\xe9/go.sum", {"a\n", true}}, {"go.work.sum", {std::nullopt, false}}};
    unit.unit.dir = "sub";
    unit.findings.push_back({});
    unit.findings.back().message = "go_sum_incomplete";
    ASSERT_TRUE(workspaces.record_unit(kRepository, "c1", kUnit, unit).has_value());
  }
  auto workspaces = open();
  const auto found = workspaces.find_source(kRepository, "c1");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->snapshot, before.snapshot);
  EXPECT_EQ(found->notes, before.notes);
  ASSERT_EQ(found->facts.units.size(), 1U);
  EXPECT_EQ(found->facts.units[0].workspace, "go.work");
  EXPECT_EQ(found->facts.units[0].reason, Reason::bad_go_mod);
  const auto found_unit = workspaces.find_unit(kRepository, "c1", kUnit);
  ASSERT_TRUE(found_unit.has_value());
  EXPECT_EQ(found_unit->modcache, unit.modcache);
  EXPECT_EQ(found_unit->facts.modules, 3U);
  EXPECT_TRUE(found_unit->facts.completed);
  EXPECT_EQ(found_unit->uncompleted, unit.uncompleted);
  EXPECT_EQ(found_unit->findings.at(0).message, "go_sum_incomplete");
  EXPECT_TRUE(stdfs::exists(unit.modcache + "/x"));
}

TEST_F(WorkspacesTest, KnowsOnlyWhatWasRecorded) {
  auto workspaces = open();
  ASSERT_TRUE(workspaces.record_source(kRepository, source(workspaces, "c1")).has_value());
  EXPECT_FALSE(workspaces.find_source(kRepository, "c2").has_value());
  EXPECT_FALSE(workspaces.find_source(RepositoryId{8}, "c1").has_value());
  EXPECT_FALSE(workspaces.find_unit(kRepository, "c1", kUnit).has_value());
  const auto unit = workspaces.record_unit(kRepository, "c2", kUnit, {});
  ASSERT_FALSE(unit.has_value());
  EXPECT_EQ(unit.error().code, Errc::not_found);
}

TEST_F(WorkspacesTest, WhatACrashLeftIsRemovedAtTheNextStart) {
  std::string half_made;
  std::string kept;
  {
    auto workspaces = open();
    half_made = filled(workspaces, "source");
    ::chmod(half_made.c_str(), 0555);
    const auto one = source(workspaces, "c1");
    kept = one.snapshot;
    ASSERT_TRUE(workspaces.record_source(kRepository, one).has_value());
  }
  static_cast<void>(open());
  EXPECT_FALSE(stdfs::exists(half_made));
  EXPECT_TRUE(stdfs::exists(kept));
}

TEST_F(WorkspacesTest, DamagedRecordsAndMissingDirectoriesAreForgotten) {
  {
    auto workspaces = open();
    const auto gone = source(workspaces, "c1");
    ASSERT_TRUE(workspaces.record_source(kRepository, gone).has_value());
    ASSERT_TRUE(workspaces.record_source(kRepository, source(workspaces, "c2")).has_value());
    stdfs::remove_all(gone.snapshot);
  }
  tests::write_text(dir_ / "ws" / "records" / "junk.json", "{\"repository\": []");
  auto workspaces = open();
  EXPECT_FALSE(workspaces.find_source(kRepository, "c1").has_value());
  EXPECT_TRUE(workspaces.find_source(kRepository, "c2").has_value());
  EXPECT_FALSE(stdfs::exists(dir_ / "ws" / "records" / "junk.json"));
}

TEST_F(WorkspacesTest, TheLeastRecentlyUsedGoFirst) {
  auto workspaces = open();
  const auto a = source(workspaces, "a");
  const auto b = source(workspaces, "b");
  const auto c = source(workspaces, "c");
  for (const auto* one : {&a, &b, &c})
    ASSERT_TRUE(workspaces.record_source(kRepository, *one).has_value());
  static_cast<void>(workspaces.find_source(kRepository, "a"));
  EXPECT_EQ(workspaces.bytes(), 300U);

  EXPECT_THAT(workspaces.evict(200), IsEmpty());

  EXPECT_FALSE(stdfs::exists(b.snapshot));
  EXPECT_TRUE(stdfs::exists(a.snapshot));
  EXPECT_TRUE(stdfs::exists(c.snapshot));
  EXPECT_EQ(workspaces.bytes(), 200U);
  EXPECT_FALSE(workspaces.find_source(kRepository, "b").has_value());
}

TEST_F(WorkspacesTest, ManySmallOnesGoByTheirNumber) {
  auto workspaces = open();
  const auto a = source(workspaces, "a");
  const auto b = source(workspaces, "b");
  const auto c = source(workspaces, "c");
  for (const auto* one : {&a, &b, &c})
    ASSERT_TRUE(workspaces.record_source(kRepository, *one).has_value());
  static_cast<void>(workspaces.find_source(kRepository, "a"));
  EXPECT_EQ(workspaces.count(), 3U);

  EXPECT_THAT(workspaces.evict(1 << 20, 1), IsEmpty());

  EXPECT_TRUE(stdfs::exists(a.snapshot));
  EXPECT_FALSE(stdfs::exists(b.snapshot));
  EXPECT_FALSE(stdfs::exists(c.snapshot));
  EXPECT_EQ(workspaces.count(), 1U);
}

TEST_F(WorkspacesTest, PinnedRepositoriesStay) {
  auto workspaces = open();
  const auto one = source(workspaces, "a");
  ASSERT_TRUE(workspaces.record_source(kRepository, one).has_value());
  auto pin = workspaces.pin(kRepository);
  auto second = workspaces.pin(kRepository);
  pin.reset();
  static_cast<void>(workspaces.evict(0));
  EXPECT_TRUE(stdfs::exists(one.snapshot));
  second.reset();
  static_cast<void>(workspaces.evict(0));
  EXPECT_FALSE(stdfs::exists(one.snapshot));
}

TEST_F(WorkspacesTest, ReplacedDirectoriesGoWhenNobodyUsesThem) {
  auto workspaces = open();
  const auto old = source(workspaces, "a");
  ASSERT_TRUE(workspaces.record_source(kRepository, old).has_value());
  auto pin = workspaces.pin(kRepository);
  const auto fresh = source(workspaces, "a");
  ASSERT_TRUE(workspaces.record_source(kRepository, fresh).has_value());
  static_cast<void>(workspaces.evict(1000));
  EXPECT_TRUE(stdfs::exists(old.snapshot)) << "a run may still mount it";
  pin.reset();
  static_cast<void>(workspaces.evict(1000));
  EXPECT_FALSE(stdfs::exists(old.snapshot));
  EXPECT_TRUE(stdfs::exists(fresh.snapshot));
}

TEST_F(WorkspacesTest, APinOutlivesTheRegistry) {
  std::shared_ptr<Workspaces::Pin> pin;
  {
    auto workspaces = open();
    pin = workspaces.pin(kRepository);
  }
  pin.reset();
}

TEST_F(WorkspacesTest, DiscardRemovesOnlyWhatIsOurs) {
  auto workspaces = open();
  const auto dir = filled(workspaces, "staging");
  workspaces.discard(dir);
  EXPECT_FALSE(stdfs::exists(dir));
  tests::write_text(dir_ / "mine" / "x", "x");
  workspaces.discard((dir_ / "mine").string());
  EXPECT_TRUE(stdfs::exists(dir_ / "mine" / "x"));
}

}  // namespace
}  // namespace cupel::worker
