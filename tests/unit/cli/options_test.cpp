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

TEST(CommandLine, TheEngineOfLocalWorkersIsOneOfTwo) {
  const auto line = parsed({"run", "--local", "--engine", "bubblewrap", "--image-dir", "/i"});
  ASSERT_TRUE(line.request);
  EXPECT_EQ(line.request->local.engine, kBubblewrap);
  EXPECT_EQ(line.request->local.image_dir, "/i");
  EXPECT_TRUE(parsed({"doctor", "worker", "--engine", "bubblewrap"}).request);

  EXPECT_FALSE(parsed({"run", "--local", "--engine", "chroot"}).request);
}

TEST(CommandLine, ImagesAreBuiltForAnEngineOrUnpacked) {
  const auto build = parsed({"image", "build", "1.26", "--engine", "bubblewrap"});
  ASSERT_TRUE(build.request);
  EXPECT_TRUE(build.request->image.unpacked);
  EXPECT_FALSE(parsed({"image", "build", "1.26"}).request->image.unpacked);
  EXPECT_FALSE(parsed({"image", "pull", "1.26", "--engine", "bubblewrap"}).request);
}

TEST(CommandLine, RetryTakesVerdictsAndLocalOptions) {
  const auto line =
      parsed({"retry", "c-1", "--only", "flaky,inconclusive", "--local", "--slots", "2"});
  ASSERT_TRUE(line.request);
  EXPECT_EQ(line.request->verdicts, (std::vector<std::string>{"flaky", "inconclusive"}));
  EXPECT_TRUE(line.request->local.enabled);
  EXPECT_EQ(line.request->local.slots, 2U);
}

TEST(CommandLine, AWordThatIsNoVerdictIsToldInsteadOfFindingNothing) {
  EXPECT_FALSE(parsed({"retry", "c-1", "--only", "flaky,failed"}).request);
  EXPECT_FALSE(parsed({"results", "c-1", "--verdict", "wrong"}).request);
  EXPECT_TRUE(parsed({"results", "c-1", "--verdict", "open,changed_failure"}).request);
}

TEST(CommandLine, WorkersAreOrderedByIdOrByLabel) {
  const auto one = parsed({"worker", "drain", "w-1", "--deadline", "10m"});
  ASSERT_TRUE(one.request);
  EXPECT_EQ(one.request->verb, Verb::worker_drain);
  EXPECT_EQ(one.request->subject, "w-1");
  EXPECT_EQ(one.request->deadline, "10m");
  const auto many = parsed(
      {"worker", "quarantine", "--label", "zone=a", "--label", "disk=old", "--why", "kernel bug"});
  ASSERT_TRUE(many.request);
  EXPECT_EQ(many.request->verb, Verb::worker_quarantine);
  EXPECT_EQ(many.request->labels, (std::vector<std::string>{"zone=a", "disk=old"}));
  EXPECT_EQ(many.request->why, "kernel bug");
  const auto back = parsed({"worker", "release", "w-1", "--without-probe"});
  ASSERT_TRUE(back.request);
  EXPECT_TRUE(back.request->without_probe);
}

TEST(CommandLine, CampaignsArePausedAndResumed) {
  const auto pause = parsed({"campaign", "pause", "c-1"});
  ASSERT_TRUE(pause.request);
  EXPECT_EQ(pause.request->verb, Verb::campaign_pause);
  EXPECT_EQ(pause.request->campaign, "c-1");
  const auto why = parsed({"why", "t-5"});
  ASSERT_TRUE(why.request);
  EXPECT_EQ(why.request->verb, Verb::why);
  const auto cancel = parsed({"campaign", "cancel", "c-1"});
  ASSERT_TRUE(cancel.request);
  EXPECT_EQ(cancel.request->verb, Verb::cancel);
}

TEST(CommandLine, EveryMistakeIsExitCodeTwo) {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{},
                                             {"frob"},
                                             {"resul", "c-1"},
                                             {"run", "--nope"},
                                             {"run", "--workers", "x"},
                                             {"results"},
                                             {"report", "c-1", "--as", "pdf"},
                                             {"--format", "xml", "check"},
                                             {"key"},
                                             {"campaign", "pause"},
                                             {"worker", "drain", "w-1", "--deadline", "soon"},
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
