// A snapshot, an after side to be promoted, and processes that are killed while they do it.
#pragma once

#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/fs/workspaces.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace cupel::worker {

namespace stdfs = std::filesystem;

inline constexpr RepositoryId kRepository{7};
inline constexpr UnitId kUnit{11};
inline constexpr WorkspaceSlot kSlot = 1;
inline constexpr const char* kBytes = "module m\n\ngo 1.26\n\n// \xff and 100%\n";

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

  /// The only snapshot without the file that the change removes.
  void remove_after_snapshot() {
    for (const auto& entry : stdfs::directory_iterator(dir_ / "ws" / "data")) {
      bool base = false;
      for (const auto& below : stdfs::recursive_directory_iterator(entry.path())) {
        base = base || below.path().filename() == "gone.go";
      }
      const bool source = entry.path().filename().string().starts_with("source-");
      if (source && !base) (void)fs::remove_tree(entry.path());
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

}  // namespace cupel::worker
