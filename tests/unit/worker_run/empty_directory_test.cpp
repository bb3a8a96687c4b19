// Directories of a worker that is not root: this process lends its user, a program of the
// containers' user empties them.
#include "common/fs/files.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/run/reaper.hpp"
#include "worker/run/seed_commands.hpp"
#include "worker/run/seed_files.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;

constexpr uid_t kWorker = 65533;
constexpr uid_t kContainer = 65534;

/// What happens in `directory` as the containers' user. A mount shows it without the folders above.
int as_container(const std::string& directory, const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::seteuid(0) != 0 || ::chdir(directory.c_str()) != 0 || ::setgroups(0, nullptr) != 0 ||
        ::setgid(kContainer) != 0 || ::setuid(kContainer) != 0)
      ::_exit(100);
    act();
    ::_exit(101);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class EmptyingRuns : public RunPort {
 public:
  asio::awaitable<RunReport> run(RunRequest request, std::shared_ptr<CancelToken>,
                                 OutputSink) override {
    const int program = wrapper;
    RunReport report;
    report.exit_code = as_container(request.mounts.gocache, [program] {
      const char* const words[] = {"cupel-init", "--empty", ".", nullptr};
      ::fexecve(program, const_cast<char* const*>(words), environ);
    });
    ++count;
    co_return report;
  }
  int wrapper = ::open(CUPEL_INIT, O_RDONLY);
  int count = 0;
};

TEST(EmptyDirectory, AWorkerThatIsNotRootRemovesWhatContainersWrote) {
  if (::geteuid() != 0) GTEST_SKIP() << "changes users, so it needs root";
  EmptyingRuns runs;
  ASSERT_GE(runs.wrapper, 0) << CUPEL_INIT;
  asio::thread_pool files(1);
  asio::io_context io;
  ASSERT_EQ(::seteuid(kWorker), 0);
  {
    const tests::TempDir temp;
    // As a build cache lies in a half-built seed.
    const std::string directory = (temp / "seed").string();
    const std::string cache = directory + "/cache";
    stdfs::create_directories(cache);
    ASSERT_EQ(::chmod(cache.c_str(), 0777), 0);
    ASSERT_EQ(as_container(cache,
                           [] {
                             if (::mkdir("00", 0755) == 0 && ::mkdir("00/a", 0500) == 0 &&
                                 ::open("00/x", O_CREAT | O_WRONLY, 0444) >= 0)
                               ::_exit(0);
                           }),
              0);
    ASSERT_FALSE(fs::remove_tree(directory)) << "then there is nothing to test";

    auto emptied =
        asio::co_spawn(io, empty_directory(runs, files, "sha256:any", directory), asio::use_future);
    io.run();

    const Result<void> removed = emptied.get();
    EXPECT_TRUE(removed) << removed.error().text();
    EXPECT_FALSE(stdfs::exists(directory));
    EXPECT_EQ(runs.count, 1);
  }
  ASSERT_EQ(::seteuid(0), 0);
}

TEST(AdoptTree, AWorkerThatIsNotRootHasCopiesOfWhatContainersWrote) {
  if (::geteuid() != 0) GTEST_SKIP() << "changes users, so it needs root";
  EmptyingRuns runs;
  asio::thread_pool files(1);
  asio::io_context io;
  ASSERT_EQ(::seteuid(kWorker), 0);
  {
    const tests::TempDir temp;
    const SeedScratch scratch{.directory = temp / "seed", .image = "sha256:any", .modcache = {}};
    stdfs::create_directories(scratch.cache());
    ASSERT_EQ(::chmod(scratch.cache().c_str(), 0777), 0);
    ASSERT_EQ(as_container(scratch.cache(),
                           [] {
                             if (::mkdir("00", 0755) == 0 && ::symlink("/etc", "00/link") == 0 &&
                                 ::open("00/x-d", O_CREAT | O_WRONLY, 0644) >= 0)
                               ::_exit(0);
                           }),
              0);

    const Result<void> adopted = adopt_tree(scratch.cache());

    ASSERT_TRUE(adopted) << adopted.error().text();
    struct stat facts{};
    ASSERT_EQ(::stat((scratch.cache() + "/00/x-d").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, kWorker);
    EXPECT_EQ(facts.st_mode & 0777U, 0444U);
    EXPECT_FALSE(stdfs::exists(scratch.cache() + "/00/link"));
    stdfs::rename(scratch.directory, temp / "named");
    asio::co_spawn(io, discard_scratch(runs, files, scratch), asio::detached);
    io.run();
    EXPECT_FALSE(stdfs::exists(left_beside(scratch.directory)));
    EXPECT_TRUE(fs::remove_tree(temp / "named"));
  }
  ASSERT_EQ(::seteuid(0), 0);
}

}  // namespace
}  // namespace cupel::worker
