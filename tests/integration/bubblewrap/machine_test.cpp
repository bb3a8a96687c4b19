// What is told of a machine, and what happens where it gives less.
#include "common/fs/files.hpp"
#include "tests/integration/bubblewrap/bubblewrap.hpp"
#include "worker/run/seed_files.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cupel::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using worker::EndedBy;
using worker::Limited;
using worker::RunReport;
using worker::RunRequest;

TEST_F(BubblewrapTest, TheEvidenceNamesTheProgramItsUserAndTheLimits) {
  EXPECT_THAT(host.text(), ::testing::StartsWith("bubblewrap "));
  for (const Limited what : worker::kLimited) {
    EXPECT_THAT(host.text(), HasSubstr(worker::name(what)));
    if (!host.cgroups.enforces(what)) EXPECT_THAT(host.text(), HasSubstr("not enforced"));
  }
}

TEST_F(BubblewrapTest, WithoutControlGroupsARunSaysWhatIsNotHeld) {
  worker::BubblewrapHost bare = host;
  bare.cgroups = {};
  rebuild(bare, options());

  const RunReport report = run(shell("echo ran"));

  EXPECT_EQ(report.out.bytes, "ran\n");
  EXPECT_THAT(report.notes, ::testing::ElementsAre("limit of memory not enforced",
                                                   "limit of pids held by RLIMIT_NPROC only",
                                                   "limit of cpu not enforced"));
}

TEST_F(BubblewrapTest, WithoutControlGroupsAForkBombStillEndsAtTheLimit) {
  worker::BubblewrapHost bare = host;
  bare.cgroups = {};
  rebuild(bare, options());
  RunRequest request = shell("b() { b & b; }; b 2>/dev/null; sleep 30");
  request.limit = 2s;

  const RunReport report = run(request);

  EXPECT_TRUE(report.end_marker);
  EXPECT_LT(report.wall, 20s);
}

TEST_F(BubblewrapTest, NoDescriptorOfTheWorkersStarterReachesARun) {
  const int left_open = ::open("/etc/passwd", O_RDONLY);  // NOLINT(android-cloexec-open): the point
  ASSERT_GT(left_open, 2);
  const fs::Fd held(::fcntl(left_open, F_DUPFD, 200));
  ::close(left_open);

  const RunReport report =
      run(shell("ls /proc/self/fd /proc/1/fd 2>/dev/null; "
                "read line <&" +
                std::to_string(held.get()) + " && echo $line"));

  EXPECT_THAT(report.out.bytes, ::testing::Not(HasSubstr(std::to_string(held.get()))));
  EXPECT_THAT(report.out.bytes, ::testing::Not(HasSubstr("root:")));
  EXPECT_THAT(report.out.bytes, HasSubstr("/proc/self/fd:\n0\n1\n2\n"));
}

TEST_F(BubblewrapTest, ProcessorTimeIsHeldToItsShare) {
  if (!host.cgroups.enforces(Limited::cpu)) GTEST_SKIP() << host.text();
  RunRequest request = shell("i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done");
  request.limits.cpu_millis = 100;
  request.limit = 3s;

  const RunReport report = run(request);

  EXPECT_EQ(report.ended_by, EndedBy::check_limit) << "a tenth of a processor did it in time";
}

/// Starts a run in a process of its own, which then is killed as a crashed worker is.
TEST_F(BubblewrapTest, ARunDiesWithTheProcessThatStartedIt) {
  const std::string begun = mounts.gocache + "/begun";
  const pid_t worker = ::fork();
  if (worker == 0) {
    boost::asio::io_context own{1};
    boost::asio::thread_pool pool{1};
    worker::BubblewrapRuns mine(own.get_executor(), pool, host, options());
    (void)await(
        own, mine.run(shell("trap '' TERM HUP INT; touch /gocache/begun; sleep 600"), nullptr, {}));
    ::_exit(0);
  }
  const auto give_up = std::chrono::steady_clock::now() + 20s;
  while (!std::filesystem::exists(begun) && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  ASSERT_TRUE(std::filesystem::exists(begun));
  EXPECT_FALSE(left_behind().empty());

  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);

  while (!left_behind().empty() && std::chrono::steady_clock::now() < give_up)
    std::this_thread::yield();
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(BubblewrapTest, ASeedIsCopiedWhereRunsOwnWhatTheyWrite) {
  const std::string seed = scratch.open_dir("seed");
  std::filesystem::create_directories(seed + "/0a");
  write_file(seed + "/0a/object-d", "compiled");
  const std::string linked = scratch.path() + "/linked";
  const std::string copied = scratch.path() + "/copied";

  EXPECT_EQ(worker::seed_cache(seed, linked, true).value(), "linked");
  EXPECT_EQ(worker::seed_cache(seed, copied, false).value(), "copied");

  EXPECT_TRUE(std::filesystem::equivalent(seed + "/0a/object-d", linked + "/0a/object-d"));
  EXPECT_FALSE(std::filesystem::equivalent(seed + "/0a/object-d", copied + "/0a/object-d"));
}

TEST_F(BubblewrapTest, GroupsThatACrashedWorkerLeftAreRemovedAtTheNextLook) {
  if (!host.cgroups.enforces(Limited::memory)) GTEST_SKIP() << host.text();
  const auto made = host.cgroups.make("left", RunLimits{});
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_FALSE(made->views().empty());
  const std::string group = made->views().front().host_path;
  ASSERT_TRUE(std::filesystem::exists(group));

  (void)worker::look_at_host(mark);

  EXPECT_FALSE(std::filesystem::exists(group));
}

TEST_F(BubblewrapTest, AnotherLookFindsTheSameGroups) {
  const std::string first = host.text();

  const auto again = worker::look_at_host(mark);

  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->text(), first);
}

}  // namespace
}  // namespace cupel::test
