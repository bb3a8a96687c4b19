#include "cli/app/child.hpp"

#include "cli/app/interrupts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace cupel::cli {
namespace {

using namespace std::chrono_literals;

class LogFolder {
 public:
  ~LogFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_ = [] {
    std::string name = testing::TempDir() + "cupel-child-XXXXXX";
    return ::mkdtemp(name.data()) == nullptr ? std::string() : name;
  }();
};

class ChildTest : public testing::Test {
 protected:
  LogFolder logs_;  // outlives the children
};

TEST_F(ChildTest, ItsEndAndOutputAreKnown) {
  auto child = Child::start("/bin/sh", {"-c", "echo one; echo two >&2; exit 7"}, logs_.file("a"));
  ASSERT_TRUE(child) << child.error().text();

  const auto ended = child->wait(30s);

  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_EQ(ended->text(), "exit code 7");
  EXPECT_EQ(tail_of(child->log_file(), 5), "one\ntwo");
  EXPECT_EQ(tail_of(child->log_file(), 1), "two");
}

TEST_F(ChildTest, AMissingProgramIsAnErrorAtOnce) {
  const auto child = Child::start("/no/such/program", {}, logs_.file("b"));
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Errc::not_found);
}

TEST_F(ChildTest, IsKilledWithItsObject) {
  pid_t pid = 0;
  {
    auto child = Child::start("/bin/sh", {"-c", "echo $$; exec sleep 1000"}, logs_.file("c"));
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

  auto child = Child::start("/bin/true", {}, logs_.file("d"));
  ASSERT_TRUE(child);
  interrupts.watch(child->fd());
  ASSERT_TRUE(child->wait(30s));
  EXPECT_THAT(interrupts.take().watched, ::testing::ElementsAre(child->fd()));
  interrupts.unwatch(child->fd());

  auto sleeper = Child::start("/bin/sleep", {"1000"}, logs_.file("e"));
  ASSERT_TRUE(sleeper);
  interrupts.limit(1ms);
  EXPECT_FALSE(sleeper->wait(30s, interrupts.fd())) << "the wait ends by the other descriptor";
  EXPECT_TRUE(interrupts.take().timeout);
}

}  // namespace
}  // namespace cupel::cli
