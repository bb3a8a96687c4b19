// The probe with the real program in the containers' place, as the containers' user.
#include "worker/run/mount_probe.hpp"

#include "tests/support/temp_dir.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>

#include <array>
#include <fcntl.h>
#include <linux/fs.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::worker {
namespace {

constexpr uid_t kRunUser = 65534;

/// As on some shares of virtual machines: what is made there is nobody's to change.
bool let_only_make_files(const std::string& directory, bool on) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  int flags = 0;
  const bool read = ::ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
  flags = on ? flags | FS_APPEND_FL : flags & ~FS_APPEND_FL;
  const bool written = read && ::ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
  ::close(fd);
  return written;
}

class ProbedRuns final : public RunPort {
 public:
  explicit ProbedRuns(bool share_keeps_owners) : keeps_(share_keeps_owners) {}

  boost::asio::awaitable<RunReport> run(RunRequest request, std::shared_ptr<CancelToken>,
                                        OutputSink) override {
    const std::string& cache = request.mounts.gocache;
    if (!keeps_) EXPECT_TRUE(let_only_make_files(cache, true));
    RunReport report;
    report.end_marker = true;
    report.exit_code = use_files_in(cache, report.err.bytes);
    if (!keeps_) EXPECT_TRUE(let_only_make_files(cache, false));
    words = request.command;
    co_return report;
  }

  std::vector<std::string> words;

 private:
  int use_files_in(const std::string& directory, std::string& said) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const int program = ::open(CUPEL_INIT, O_RDONLY);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(pipe[1], STDERR_FILENO);
      const char* const arguments[] = {"cupel-init", "--own-files", ".", nullptr};
      if (::chdir(directory.c_str()) == 0 && ::setgid(kRunUser) == 0 && ::setuid(kRunUser) == 0)
        ::fexecve(program, const_cast<char* const*>(arguments), environ);
      ::_exit(127);
    }
    ::close(pipe[1]);
    std::array<char, 512> piece{};
    for (ssize_t n = 0; (n = ::read(pipe[0], piece.data(), piece.size())) > 0;)
      said.append(piece.data(), static_cast<std::size_t>(n));
    ::close(pipe[0]);
    ::close(program);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  bool keeps_;
};

class MountProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "lends another user, so it needs root";
  }
  Result<void> probe(ProbedRuns& runs) {
    boost::asio::io_context io;
    auto answer = boost::asio::co_spawn(io,
                                        probe_mounts(runs, {.image = "i",
                                                            .roots = {root_.path().string()},
                                                            .socket_path = "/run/engine.sock"}),
                                        boost::asio::use_future);
    io.run();
    return answer.get();
  }
  // Not in /tmp, which may be a tmpfs: that knows no append-only directories.
  tests::TempDir root_{"/var/tmp"};
};

TEST_F(MountProbeTest, PassesWhereARunCanUseItsOwnFiles) {
  ProbedRuns runs(true);

  const auto probed = probe(runs);

  EXPECT_TRUE(probed) << probed.error().text();
  EXPECT_EQ(runs.words, (std::vector<std::string>{"/cupel-init", "--own-files", "/gocache"}));
}

TEST_F(MountProbeTest, RefusesAShareOnWhichARunCannotUseItsOwnFiles) {
  ProbedRuns runs(false);

  const auto probed = probe(runs);

  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code, Errc::mount_probe_failed);
  EXPECT_THAT(probed.error().what, ::testing::HasSubstr("can't use files that it makes itself"));
  EXPECT_THAT(probed.error().what, ::testing::HasSubstr("/run/engine.sock"));
  EXPECT_THAT(probed.error().detail, ::testing::HasSubstr("can't rename a file"));
}

}  // namespace
}  // namespace cupel::worker
