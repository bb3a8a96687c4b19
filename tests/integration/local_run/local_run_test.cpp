// `cupel run --local` as people run it, with the engine that `cupel` finds by itself.
#include "common/fs/files.hpp"
#include "tests/support/processes.hpp"
#include "tests/unit/coordinator_app/daemon_process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace cupel {
namespace {

class LocalRunTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::temp_directory_path() / ("cupel-local-" + fs::random_hex(8));
    std::filesystem::create_directory(dir_);
    ::setenv("XDG_STATE_HOME", dir_.c_str(), 1);
    std::ofstream(dir_ / "c.yaml") << "apiVersion: cupel/v1\nkind: Campaign\nname: x\n"
                                      "repositories:\n  - module: example.com/a@v1.0.0\n";
  }
  void TearDown() override {
    std::error_code ec;
    std::filesystem::remove_all(dir_, ec);
  }
  std::unique_ptr<coordinator::DaemonProcess> run() {
    return std::make_unique<coordinator::DaemonProcess>(
        dir_, "cupel",
        std::vector<std::string>{"run", "--local", "-f", (dir_ / "c.yaml").string()});
  }
  /// Command lines of processes that have this test's directory in them.
  std::vector<std::string> processes() const { return tests::command_lines_with(dir_.string()); }
  unsigned mode(const std::filesystem::path& path) const {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }

  std::filesystem::path dir_;
};

TEST_F(LocalRunTest, OneAtATimeAndCtrlCLeavesNothingBehind) {
  const auto first = run();
  ASSERT_TRUE(first->wait_for_log("starting 1 worker")) << first->log();
  EXPECT_GE(processes().size(), 2U) << "the client and its coordinator; the worker is on its way";

  const auto second = run();
  EXPECT_EQ(second->wait_for_end(), 1);
  EXPECT_TRUE(second->wait_for_log("another 'cupel ... --local' runs")) << second->log();
  EXPECT_TRUE(second->wait_for_log("CUP-2012")) << second->log();

  first->signal(SIGINT);
  EXPECT_EQ(first->wait_for_end(), 130) << first->log();
  EXPECT_TRUE(processes().empty()) << processes().front();
  const auto local = dir_ / "cupel" / "local";
  EXPECT_EQ(mode(local), 0700U);
  EXPECT_EQ(mode(local / "keys"), 0700U);
  EXPECT_EQ(mode(local / "keys" / "coordinator.key"), 0600U);
  EXPECT_EQ(mode(local / "keys" / "local-1.key"), 0600U);
  EXPECT_EQ(mode(local / "coordinator" / "token"), 0600U);
  EXPECT_EQ(mode(local / "coordinator" / "store.db"), 0600U);

  // The folder is free again.
  const auto third = run();
  EXPECT_TRUE(third->wait_for_log("starting 1 worker")) << third->log();
  third->signal(SIGTERM);
  third->wait_for_end();
  EXPECT_TRUE(processes().empty());
}

TEST_F(LocalRunTest, AKilledRunTakesItsDaemonsWithIt) {
  const auto first = run();
  ASSERT_TRUE(first->wait_for_log("starting 1 worker")) << first->log();

  first->signal(SIGKILL);
  EXPECT_EQ(first->wait_for_end(), -SIGKILL);

  // They die by the kernel's hand; the next run is let in once they are gone.
  const auto next = run();
  EXPECT_TRUE(next->wait_for_log("starting 1 worker")) << next->log();
  next->signal(SIGINT);
  EXPECT_EQ(next->wait_for_end(), 130);
  EXPECT_TRUE(processes().empty());
}

}  // namespace
}  // namespace cupel
