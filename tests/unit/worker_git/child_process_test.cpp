#include "worker/git/child_process.hpp"

#include "tests/support/git_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <future>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;
using testing::Not;

class ChildProcess : public testing::Test {
 protected:
  /// The orphan belongs to init: its end, which may follow the kill by a moment, is the kernel's to
  /// tell.
  static bool ends(pid_t pid) {
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (handle < 0) return errno == ESRCH;
    pollfd watched{.fd = handle, .events = POLLIN, .revents = 0};
    const bool ended = poll(&watched, 1, 20'000) == 1;
    close(handle);
    return ended;
  }
  static ChildSpec spec(const std::string& script) {
    ChildSpec spec;
    spec.argv = {"/bin/bash", "-c", script};
    spec.environment = {"PATH=/usr/bin:/bin"};
    spec.directory = "/";
    return spec;
  }
  Result<ChildResult> run(ChildSpec what) {
    asio::io_context loop;
    auto done = asio::co_spawn(loop, run_child(std::move(what), cancel_), asio::use_future);
    loop.run();
    return done.get();
  }

  std::shared_ptr<CancelToken> cancel_ = std::make_shared<CancelToken>();
};

TEST_F(ChildProcess, GivesOutputAndExitCode) {
  const auto result = run(spec("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->ended_by, ChildEnd::itself);
}

TEST_F(ChildProcess, InheritsNothing) {
  ::setenv("CUPEL_TEST_SECRET", "x", 1);
  const auto result = run(spec("env; echo fds $(ls /proc/$$/fd); read line || echo no-stdin"));
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->out, Not(HasSubstr("CUPEL_TEST_SECRET")));
  EXPECT_THAT(result->out, HasSubstr("no-stdin"));
  EXPECT_THAT(result->out, Not(HasSubstr(" 10 ")));
}

TEST_F(ChildProcess, TheLimitKillsTheWholeGroup) {
  auto what = spec("sleep 1000 & echo $!; sleep 1000");
  what.limit = std::chrono::milliseconds(300);
  const auto result = run(std::move(what));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->ended_by, ChildEnd::limit);
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_TRUE(ends(std::stoi(result->out)));
}

TEST_F(ChildProcess, AGrandchildThatKeepsThePipesHoldsNothingUp) {
  const auto result = run(spec("sleep 1000 & echo done"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->ended_by, ChildEnd::itself);
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->out, "done\n");
}

TEST_F(ChildProcess, TooMuchOutputKillsAndTooManyComplaintsAreCut) {
  auto loud = spec("yes");
  loud.out_bytes_max = 100'000;
  const auto result = run(std::move(loud));
  EXPECT_EQ(result->ended_by, ChildEnd::output);
  EXPECT_EQ(result->out.size(), 100'000U);
  auto complains = spec("head -c 500000 /dev/zero >&2");
  complains.err_bytes_max = 1000;
  const auto complained = run(std::move(complains));
  EXPECT_EQ(complained->ended_by, ChildEnd::itself);
  EXPECT_EQ(complained->err.size(), 1000U);
}

TEST_F(ChildProcess, TheWatchKills) {
  auto what = spec("sleep 1000");
  what.watch = [] { return true; };
  EXPECT_EQ(run(std::move(what))->ended_by, ChildEnd::watched);
}

TEST_F(ChildProcess, CancellingKills) {
  asio::io_context loop;
  auto done = asio::co_spawn(loop, run_child(spec("sleep 1000"), cancel_), asio::use_future);
  asio::post(loop, [this] { cancel_->cancel(); });
  loop.run();
  EXPECT_EQ(done.get()->ended_by, ChildEnd::cancelled);
  EXPECT_EQ(run(spec("sleep 1000"))->ended_by, ChildEnd::cancelled) << "cancelled before it began";
}

TEST_F(ChildProcess, AProgramThatIsNotThereIsAnError) {
  ChildSpec what;
  what.argv = {"/nowhere/git"};
  what.directory = "/";
  const auto result = run(std::move(what));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::process_failed);
}

}  // namespace
}  // namespace cupel::worker
