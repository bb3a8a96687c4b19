#include "tests/unit/coordinator_sql/fixture.hpp"

#include <fstream>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::coordinator::sql {
namespace {

constexpr int kEventsPerBatch = 50;

/// Runs `work` in a child process; returns its wait status.
int in_child(const std::function<void()>& work, const std::function<void(pid_t)>& meanwhile = {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  if (meanwhile) meanwhile(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

using CrashTest = BothStores;
CUPEL_ON_BOTH_STORES(CrashTest);

TEST_P(CrashTest, AKilledWriterLeavesWholeBatchesAndAllThatItPromised) {
  ASSERT_TRUE(prepare_store(store_));
  int pipe_fds[2] = {};
  ASSERT_EQ(::pipe(pipe_fds), 0);
  std::uint64_t promised = 0;

  in_child(
      [&] {
        auto writer = SqlWriter::open(store_);
        for (;;) {
          std::vector<Transition> batch;
          for (int i = 0; i < kEventsPerBatch; ++i)
            batch.push_back(EventAppended{{1}, "a", "{}", {}});
          const auto done = commit(**writer, batch);
          const std::uint64_t last = done ? done->events.back().seq : 0;
          if (::write(pipe_fds[1], &last, sizeof last) != sizeof last) ::_exit(1);
        }
      },
      [&](pid_t child) {
        for (int i = 0; i < 40; ++i) ASSERT_EQ(::read(pipe_fds[0], &promised, sizeof promised), 8);
        ::kill(child, SIGKILL);
      });
  ::close(pipe_fds[1]);
  for (std::uint64_t more = 0; ::read(pipe_fds[0], &more, sizeof more) == 8;) promised = more;
  ::close(pipe_fds[0]);

  const auto reader = SqlReader::open(store_);
  ASSERT_TRUE(reader);
  const auto last = (*reader)->last_event();
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_GE(*last, promised);
  EXPECT_EQ(*last % kEventsPerBatch, 0U);
}

TEST(Crash, AFileThatCannotGrowFailsTheBatchAndKeepsWhatWasThere) {
  const ScratchDir dir;
  const auto file = dir.path() / "store.db";
  ASSERT_TRUE(prepare_store(file));
  const int status = in_child([&] {
    auto writer = SqlWriter::open(file);
    if (!writer || !commit(**writer, {EventAppended{{1}, "before", "{}", {}}})) ::_exit(2);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{256 * 1024, 256 * 1024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::vector<Transition> batch;
    for (int i = 0; i < 2000; ++i)
      batch.push_back(EventAppended{{1}, "a", std::string(1000, 'x'), {}});
    const auto failed = commit(**writer, batch);
    if (failed) ::_exit(3);
    if (failed.error().code != Errc::store_failed && failed.error().code != Errc::disk_full)
      ::_exit(4);
    if (failed.error().what.find("store.db") == std::string::npos) ::_exit(5);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);

  const auto reader = SqlReader::open(file);
  ASSERT_TRUE(reader);
  EXPECT_EQ(*(*reader)->last_event(), 1U);
}

TEST(Crash, AStoreInAFolderThatDoesNotExistIsNamed) {
  const auto refused = prepare_store(std::filesystem::path("/nonexistent-folder/store.db"));

  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("/nonexistent-folder"), std::string::npos);
}

}  // namespace
}  // namespace cupel::coordinator::sql
