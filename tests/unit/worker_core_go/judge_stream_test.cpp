#include "tests/unit/worker_core_go/judging.hpp"

namespace cupel::worker {
namespace {

using namespace judging;

// ---- rules of the stream
// ---------------------------------------------------------------------------

std::string events(std::initializer_list<std::string> tests_and_actions) {
  std::string text = "{\"Action\":\"start\",\"Package\":\"m/p\"}\n";
  for (const std::string& entry : tests_and_actions) {
    const auto colon = entry.find(':');
    text += R"({"Action":")" + entry.substr(0, colon) + R"(","Package":"m/p")";
    if (colon != std::string::npos) text += R"(,"Test":")" + entry.substr(colon + 1) + "\"";
    text += "}\n";
  }
  return text;
}

TEST(JudgeTests, TheOnlyRunningLeafOfAFailedPackageIsInferred) {
  const Judgement judgement =
      judged(whole_report(1, events({"run:A", "pass:A", "run:B", "run:B/s", "fail"})));
  EXPECT_ANSWER(judgement, failing, none);
  const Finding* leaf = find(judgement, FindingKind::test_failure, "B/s");
  ASSERT_NE(leaf, nullptr);
  EXPECT_TRUE(leaf->inferred);
  EXPECT_EQ(find(judgement, FindingKind::test_failure, "B"), nullptr);
  EXPECT_NE(find(judgement, FindingKind::package_failure), nullptr);
}

TEST(JudgeTests, SeveralRunningLeavesAreAbortedAndNoneIsBlamed) {
  const Judgement judgement =
      judged(whole_report(1, events({"run:A", "run:B", "run:C", "pause:C", "fail"})));
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_EQ(find(judgement, FindingKind::test_failure), nullptr);
  EXPECT_TRUE(has_note(judgement, "aborted"));
  EXPECT_TRUE(has_note(judgement, "not_run"));
  EXPECT_EQ(judgement.checks[3].tests_not_run, 3U);
}

TEST(JudgeTests, AnExplicitFailureLeavesTheOthersAborted) {
  const Judgement judgement = judged(whole_report(1, events({"run:A", "run:B", "fail:B", "fail"})));
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_NE(find(judgement, FindingKind::test_failure, "B"), nullptr);
  EXPECT_EQ(find(judgement, FindingKind::test_failure, "A"), nullptr);
  EXPECT_EQ(find(judgement, FindingKind::package_failure), nullptr);
}

TEST(JudgeTests, AParentIsDerivedFromItsChild) {
  const Judgement judgement =
      judged(whole_report(1, events({"run:A", "run:A/x", "fail:A/x", "fail:A", "fail"})));
  EXPECT_NE(find(judgement, FindingKind::test_failure, "A/x"), nullptr);
  EXPECT_NE(find(judgement, FindingKind::test_failure_derived, "A"), nullptr);
}

TEST(JudgeTests, ABenchmarkWithoutAnEndIsNoUnfinishedTest) {
  EXPECT_ANSWER(judged(whole_report(0, events({"run:T", "pass:T", "run:BenchmarkX", "pass"}))),
                passing, none);
}

TEST(JudgeTests, AnUnknownPackageProvesNothingEitherWay) {
  const std::string forged =
      "{\"Action\":\"start\",\"Package\":\"x\"}\n{\"Action\":\"fail\",\"Package\":\"x\"}\n";
  const Judgement judgement = judged(whole_report(0, kPass + forged));
  EXPECT_ANSWER(judgement, passing, none);
  EXPECT_TRUE(has_note(judgement, "unknown_package_in_stream"));
  EXPECT_ANSWER(judged(whole_report(1, kPass + forged)), inconclusive, unexplained_exit);
}

TEST(JudgeTests, AnEndWithoutARunAndASecondPackageEndAreNoted) {
  const Judgement judgement =
      judged(whole_report(0, events({"run:T", "pass:T", "pass:Ghost", "pass", "pass"})));
  EXPECT_TRUE(has_note(judgement, "end_without_run"));
  EXPECT_TRUE(has_note(judgement, "several_package_ends"));
}

std::string said(const std::string& test, const std::string& text) {
  return R"({"Action":"output","Package":"m/p")" +
         (test.empty() ? std::string() : R"(,"Test":")" + test + "\"") + R"(,"Output":")" + text +
         "\"}\n";
}

TEST(JudgeTests, GoTestsOwnTimeoutIsKeyedToTheRunningTests) {
  const std::string head =
      events({"run:A", "run:B"}) + said("B", "panic: test timed out after 2s\\n");
  const Judgement judgement =
      judged(whole_report(1, head + "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n"));
  EXPECT_ANSWER(judgement, failing, none);
  for (const char* test : {"A", "B"}) {
    const Finding* finding = find(judgement, FindingKind::test_timeout, test);
    ASSERT_NE(finding, nullptr);
    EXPECT_NE(finding->message.find("timed out after 2s"), std::string::npos);
  }
}

TEST(JudgeTests, PanicWordsInAPassingPackageAreOnlyWords) {
  const Judgement judgement = judged(
      whole_report(0, events({"run:T"}) + said("T", "panic: test timed out after 2s\\n") +
                          said("T", "no space left on device\\n") +
                          "{\"Action\":\"pass\",\"Package\":\"m/"
                          "p\",\"Test\":\"T\"}\n{\"Action\":\"pass\",\"Package\":\"m/p\"}\n"));
  EXPECT_ANSWER(judgement, passing, none);
}

TEST(JudgeTests, WhatOurLimitEndedIsUnfinishedEvenIfGoSaysFail) {
  RunReport report = whole_report(1, events({"run:T"}) + said("T", "SIGQUIT: quit\\n") +
                                         "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n");
  report.ended_by = EndedBy::check_limit;
  const Judgement judgement = judged(std::move(report));
  EXPECT_ANSWER(judgement, inconclusive, timeout);
  EXPECT_NE(find(judgement, FindingKind::test_unfinished, "T"), nullptr);
  EXPECT_NE(find(judgement, FindingKind::package_unfinished), nullptr);
  EXPECT_EQ(find(judgement, FindingKind::test_failure), nullptr);
}

TEST(JudgeTests, AKillWithoutOomIsAFailureOfThePackage) {
  const std::string text = events({"run:T"}) + said("T", "signal: killed\\n") +
                           "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n";
  EXPECT_ANSWER(judged(whole_report(1, text)), failing, none);
  RunReport killed = whole_report(1, text);
  killed.oom_kills = 1;
  const Judgement judgement = judged(std::move(killed));
  EXPECT_ANSWER(judgement, inconclusive, resource_memory);
  EXPECT_EQ(find(judgement, FindingKind::test_failure), nullptr);
}

TEST(JudgeTests, AProgramThatTmpRefusesIsTheSandbox) {
  const std::string text = events({}) +
                           said("", "fork/exec /tmp/go-build1/b001/p.test: permission denied\\n") +
                           "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n";
  EXPECT_ANSWER(judged(whole_report(1, text)), inconclusive, sandbox_noexec_tmp);
}

constexpr const char* kFailedTest =
    "{\"Action\":\"fail\",\"Package\":\"m/p\",\"Test\":\"T\"}\n"
    "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n";

TEST(JudgeTests, ATestThatQuotesARefusedProgramIsAFailure) {
  for (const char* words :
       {"    p_test.go:9: got \\\"fork/exec /tmp/go-build1/x: permission denied\\\"\\n",
        "fork/exec /tmp/go-build1/b001/p.test: permission denied\\n"}) {
    const Judgement judgement =
        judged(whole_report(1, events({"run:T"}) + said("T", words) + kFailedTest));
    EXPECT_ANSWER(judgement, failing, none);
    EXPECT_NE(find(judgement, FindingKind::test_failure, "T"), nullptr) << words;
  }
}

TEST(JudgeTests, WordsAboutRefusedProcessesCountOnlyWithTheSandboxsCount) {
  for (const char* words :
       {"    p_test.go:9: want fork/exec /bin/true: resource temporarily unavailable\\n",
        "runtime: failed to create new OS thread (have 12 already; errno=11)\\n"}) {
    const std::string text = events({"run:T"}) + said("T", words) + kFailedTest;
    const Judgement quoted = judged(whole_report(1, text));
    EXPECT_ANSWER(quoted, failing, none);
    EXPECT_NE(find(quoted, FindingKind::test_failure, "T"), nullptr) << words;

    RunReport refused = whole_report(1, text);
    refused.pids_limit_hit = true;
    const Judgement short_of = judged(std::move(refused));
    EXPECT_ANSWER(short_of, inconclusive, resource_pids);
    EXPECT_EQ(find(short_of, FindingKind::test_failure), nullptr) << words;

    // An engine without control groups counts nothing: the words are all there is.
    RunReport uncounted = whole_report(1, text);
    uncounted.pids_counted = false;
    const Judgement believed = judged(std::move(uncounted));
    EXPECT_ANSWER(believed, inconclusive, resource_pids);
  }
}

TEST(JudgeTests, AProgramThatTheGoCommandCouldNotStartIsNoFailure) {
  const std::string text =
      events({}) +
      said("", "fork/exec /tmp/go-build1/b001/p.test: resource temporarily unavailable\\n") +
      "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n";
  EXPECT_ANSWER(judged(whole_report(1, text)), inconclusive, resource_pids);
}

TEST(JudgeTests, TheTestsThatSourcesDeclareAndTheStreamNeverNamedDidNotRun) {
  Judgement judgement =
      judged(whole_report(1, events({"run:TestA", "fail:TestA"}) + said("", "panic: x\\n") +
                                 "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n"));
  ASSERT_EQ(judgement.cut_short.size(), 1U);
  EXPECT_EQ(judgement.cut_short[0].dir, "p");
  const std::vector<std::string> sources = {
      "package p\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\nfunc TestMain(m "
      "*testing.M) {}\n"
      "func Testify() {}\nfunc FuzzC(f *testing.F) {}\nfunc (s *S) TestD() {}\n// func TestE(\n"};

  note_tests_not_run(judgement, judgement.cut_short[0], context().unit, sources);

  std::vector<std::string> names;
  for (const Finding& finding : judgement.findings) {
    if (finding.message.starts_with("not_run")) names.push_back(finding.test);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"FuzzC", "TestB"}));
}

}  // namespace
}  // namespace cupel::worker
