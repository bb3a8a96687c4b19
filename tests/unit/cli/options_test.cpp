#include "cli/app/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

ParsedLine parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "cupel");
  return parse_line(static_cast<int>(words.size()), words.data());
}

TEST(CommandLine, GlobalFlagsStandBeforeOrAfterTheVerb) {
  for (const auto& line : {parsed({"--json", "--server", "http://h", "results", "c-1"}),
                           parsed({"results", "c-1", "--server", "http://h", "--json"})}) {
    ASSERT_TRUE(line.request);
    EXPECT_EQ(line.request->verb, Verb::results);
    EXPECT_EQ(line.request->campaign, "c-1");
    EXPECT_EQ(line.request->globals.server, "http://h");
    EXPECT_TRUE(line.request->globals.json());
  }
}

TEST(CommandLine, RunTakesLocalOptions) {
  const auto line = parsed({"run", "--local", "--workers", "2", "--slots", "4", "-f", "x.yaml",
                            "--exit-zero", "--report-dir", "r"});
  ASSERT_TRUE(line.request);
  EXPECT_TRUE(line.request->local.enabled);
  EXPECT_EQ(line.request->local.workers, 2U);
  EXPECT_EQ(line.request->local.slots, 4U);
  EXPECT_EQ(line.request->file, "x.yaml");
  EXPECT_TRUE(line.request->exit_zero);
}

TEST(CommandLine, RetryTakesVerdictsAndLocalOptions) {
  const auto line =
      parsed({"retry", "c-1", "--only", "flaky,inconclusive", "--local", "--slots", "2"});
  ASSERT_TRUE(line.request);
  EXPECT_EQ(line.request->verdicts, (std::vector<std::string>{"flaky", "inconclusive"}));
  EXPECT_TRUE(line.request->local.enabled);
  EXPECT_EQ(line.request->local.slots, 2U);
}

TEST(CommandLine, EveryMistakeIsExitCodeTwo) {
  for (const auto& words : std::vector<std::vector<const char*>>{{},
                                                                 {"frob"},
                                                                 {"resul", "c-1"},
                                                                 {"run", "--nope"},
                                                                 {"run", "--workers", "x"},
                                                                 {"results"},
                                                                 {"report", "c-1", "--as", "pdf"},
                                                                 {"--format", "xml", "check"},
                                                                 {"key"},
                                                                 {"watch", "c-1", "c-2"},
                                                                 {"run", "--timeout", "soon"}}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto line = parsed(words);
    (void)testing::internal::GetCapturedStdout();
    (void)testing::internal::GetCapturedStderr();
    EXPECT_FALSE(line.request);
    EXPECT_EQ(line.exit_code, 2);
  }
}

TEST(CommandLine, AnUnknownVerbGetsASuggestion) {
  testing::internal::CaptureStderr();
  (void)parsed({"chek"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              ::testing::AllOf(::testing::HasSubstr("unknown command \"chek\" (CUP-1001)"),
                               ::testing::HasSubstr("did you mean 'cupel check'?")));
}

TEST(CommandLine, HelpIsNoMistake) {
  testing::internal::CaptureStdout();
  const auto line = parsed({"run", "--help"});
  EXPECT_THAT(testing::internal::GetCapturedStdout(), ::testing::HasSubstr("--local"));
  EXPECT_EQ(line.exit_code, 0);
}

TEST(Completion, KnowsVerbsAndFlagsInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell);
    for (const char* word : {"worker", "undrain", "--exit-zero"}) {
      EXPECT_THAT(script, ::testing::HasSubstr(word)) << shell;
    }
  }
}

}  // namespace
}  // namespace cupel::cli
