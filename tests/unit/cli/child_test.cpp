#include "cli/app/child.hpp"

#include "cli/app/interrupts.hpp"
#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <unistd.h>

namespace cupel::cli {
namespace {

using namespace std::chrono_literals;

class ChildTest : public testing::Test {
 protected:
  [[nodiscard]] std::string log(const char* name) const { return logs_.path() / name; }

 private:
  tests::TempDir logs_;
};

TEST_F(ChildTest, ItsEndAndOutputAreKnown) {
  auto child = Child::start("/bin/sh", {"-c", "echo one; echo two >&2; exit 7"}, log("a"));
  ASSERT_TRUE(child) << child.error().text();

  const auto ended = child->wait(30s);

  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_EQ(ended->text(), "exit code 7");
  EXPECT_EQ(tail_of(child->log_file(), 5), "one\ntwo");
  EXPECT_EQ(tail_of(child->log_file(), 1), "two");
}

TEST_F(ChildTest, AMissingProgramIsAnErrorAtOnce) {
  const auto child = Child::start("/no/such/program", {}, log("b"));
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Errc::not_found);
}

TEST_F(ChildTest, IsKilledWithItsObject) {
  pid_t pid = 0;
  {
    auto child = Child::start("/bin/sh", {"-c", "echo $$; exec sleep 1000"}, log("c"));
    ASSERT_TRUE(child);
    while (pid == 0) {
      std::ifstream(child->log_file()) >> pid;
      (void)child->wait(1ms);
    }
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(ChildTest, ASignalTheLimitAndADeadChildInterruptAWait) {
  Interrupts interrupts;
  EXPECT_EQ(interrupts.take().signal, 0);
  raise(SIGINT);
  EXPECT_EQ(interrupts.take().signal, SIGINT);
  raise(SIGHUP);
  EXPECT_EQ(interrupts.take().signal, SIGTERM);

  auto child = Child::start("/bin/true", {}, log("d"));
  ASSERT_TRUE(child);
  interrupts.watch(child->fd());
  ASSERT_TRUE(child->wait(30s));
  EXPECT_THAT(interrupts.take().watched, ::testing::ElementsAre(child->fd()));
  interrupts.unwatch(child->fd());

  auto sleeper = Child::start("/bin/sleep", {"1000"}, log("e"));
  ASSERT_TRUE(sleeper);
  interrupts.limit(1ms);
  EXPECT_FALSE(sleeper->wait(30s, interrupts.fd())) << "the wait ends by the other descriptor";
  EXPECT_TRUE(interrupts.take().timeout);
}

}  // namespace
}  // namespace cupel::cli
