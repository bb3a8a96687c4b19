#include "cli/image/process.hpp"

#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

Command shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)},
          .environment = {{"PATH", "/usr/bin:/bin"}},
          .directory = {},
          .limit = std::chrono::seconds(30),
          .on_error_line = {}};
}

TEST(RunCommand, ReturnsStandardOutputOfASuccess) {
  EXPECT_EQ(run_command(shell("echo yes; echo no >&2")).value(), "yes\n");
}

TEST(RunCommand, TellsTheEndOfStandardErrorOfAFailure) {
  const auto answer = run_command(shell("echo why >&2; exit 3"));
  ASSERT_TRUE(answer.has_error());
  EXPECT_EQ(answer.error().code, Errc::process_failed);
  EXPECT_NE(answer.error().what.find('3'), std::string::npos);
  EXPECT_NE(answer.error().detail.find("why"), std::string::npos);
}

TEST(RunCommand, PassesOnlyTheEnvironmentThatIsNamed) {
  EXPECT_EQ(run_command(shell("echo \"[$HOME]\"")).value(), "[]\n");
}

TEST(RunCommand, SaysThatAProgramIsMissing) {
  Command command = shell("");
  command.argv = {"no-such-program-here"};
  EXPECT_EQ(run_command(command).error().code, Errc::not_found);
}

TEST(RunCommand, KillsTheWholeGroupAtItsLimit) {
  Command command = shell("cat /dev/zero >/dev/null & wait");
  command.limit = std::chrono::seconds(1);
  const auto answer = run_command(command);
  ASSERT_TRUE(answer.has_error());
  EXPECT_NE(answer.error().what.find("not done within 1 s"), std::string::npos);
}

TEST(RunCommand, RefusesAFloodInsteadOfCuttingIt) {
  EXPECT_EQ(run_command(shell("head -c 5000000 /dev/zero")).error().code, Errc::too_large);
}

TEST(RunCommand, GivesLinesOfStandardErrorAsTheyCome) {
  Command command = shell("printf 'one\\ntwo\\nthr' >&2");
  std::vector<std::string> lines;
  command.on_error_line = [&](std::string_view line) { lines.emplace_back(line); };
  ASSERT_TRUE(run_command(command).has_value());
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
}

}  // namespace
}  // namespace cupel::cli
