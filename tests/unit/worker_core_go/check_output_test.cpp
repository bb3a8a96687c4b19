// Custom checks whose output is read.
#include "worker/core/go/check_output.hpp"

#include "tests/unit/worker_core_go/judging.hpp"

#include <gmock/gmock.h>

namespace cupel::worker {
namespace {

using namespace judging;
using go::read_lines;
using go::read_sarif;
using testing::HasSubstr;

TEST(CheckOutput, LinesWithAPositionAreProblems) {
  const auto out = read_lines(
      "running...\n"
      "a/b.go:12:3: unused variable x (unused)\n"
      "/src/c.go:7: do not do this [house/rule-1]\n"
      "2 problems\n"
      "d.go:0: no place\n");
  ASSERT_EQ(out.all.size(), 2U);
  EXPECT_EQ(out.all[0].file, "a/b.go");
  EXPECT_EQ(out.all[0].line, 12);
  EXPECT_EQ(out.all[0].column, 3);
  EXPECT_EQ(out.all[0].rule, "unused");
  EXPECT_EQ(out.all[0].message, "unused variable x");
  EXPECT_EQ(out.all[1].rule, "house/rule-1");
  EXPECT_FALSE(out.truncated);
}

TEST(CheckOutput, AMessageInParenthesesIsNoRule) {
  EXPECT_EQ(read_lines("a.go:1:1: call f(x)\n").all[0].rule, "");
  EXPECT_EQ(read_lines("a.go:1:1: bad (two words)\n").all[0].rule, "");
}

TEST(CheckOutput, TooManyLinesAreCut) {
  std::string text;
  for (std::size_t i = 0; i < go::kReportedMax + 5; ++i) text += "a.go:1:1: x\n";
  const auto out = read_lines(text);
  EXPECT_EQ(out.all.size(), go::kReportedMax);
  EXPECT_TRUE(out.truncated);
}

constexpr std::string_view kSarif = R"({"version": "2.1.0", "runs": [{"results": [
  {"ruleId": "G1", "message": {"text": "bad"}, "level": "error", "locations": [{"physicalLocation":
    {"artifactLocation": {"uri": "file:///src/a.go"}, "region": {"startLine": 3, "startColumn": 4}}}]},
  {"rule": {"id": "G2"}, "message": {"text": "fine"}, "level": "note"},
  {"ruleId": "G3", "message": {"text": "known"}, "suppressions": [{"kind": "inSource"}]},
  {"ruleId": "G4", "message": {"text": "gone"}, "baselineState": "absent"},
  {"ruleId": "G5", "message": {"text": "ok"}, "kind": "pass"}]}]})";

TEST(CheckOutput, SarifResultsAreProblemsUnlessTheToolSaysOtherwise) {
  const auto out = read_sarif(kSarif);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->all.size(), 3U);
  EXPECT_EQ(out->all[0].rule, "G1");
  EXPECT_EQ(out->all[0].file, "/src/a.go");
  EXPECT_EQ(out->all[0].line, 3);
  EXPECT_EQ(out->all[0].column, 4);
  EXPECT_FALSE(out->all[0].remark);
  EXPECT_TRUE(out->all[1].remark);
  EXPECT_EQ(out->all[1].rule, "G2");
  EXPECT_TRUE(out->all[2].remark);
}

TEST(CheckOutput, WhatIsNoSarifIsNone) {
  for (const std::string_view text :
       {"", "{}", "[]", R"({"version": "2.0.0", "runs": []})", R"({"version": "2.1.0"})",
        R"({"version": "2.1.0", "runs": [{"results": {}}]})",
        R"({"version": "2.1.0", "runs": [{"results": [1]}]})"}) {
    EXPECT_FALSE(read_sarif(text)) << text;
  }
  EXPECT_FALSE(read_sarif(std::string(100'000, '[')));
  EXPECT_TRUE(read_sarif(R"({"version": "2.1.0", "runs": [{"tool": {}}]})"));
}

Judgement linted(CheckParser parser, int exit_code, std::string out, std::string err = {}) {
  JudgeContext about = context();
  about.settings.custom = {{.name = "lint", .command = {"lint"}, .limit_s = 60, .parser = parser}};
  CheckRun run = check(CheckKind::custom, whole_report(exit_code, std::move(out), std::move(err)));
  run.name = "lint";
  const std::vector<CheckRun> runs = {run};
  return judge(about, runs);
}

TEST(CheckOutput, TheExitCodeIsTheResultAndLinesAreItsFindings) {
  const Judgement judgement =
      linted(CheckParser::lines, 1, "p/a.go:1:2: bad (r)\np/a.go:9:2: bad (r)\n");
  EXPECT_ANSWER(judgement, failing, none);
  ASSERT_EQ(judgement.findings.size(), 2U);
  EXPECT_EQ(judgement.findings[0].kind, FindingKind::vet);
  EXPECT_EQ(judgement.findings[0].analyzer, "lint/r");
  EXPECT_EQ(judgement.findings[0].file, "p/a.go");
  EXPECT_EQ(judgement.findings[0].key, "custom|lint/r|p/a.go|bad");
  EXPECT_EQ(judgement.findings[1].key, "custom|lint/r|p/a.go|bad|2");
  EXPECT_EQ(judgement.findings[0].signature, judgement.findings[1].signature);
}

TEST(CheckOutput, ProblemsOfAToolThatEndsWellAreRemarks) {
  const Judgement judgement = linted(CheckParser::lines, 0, "p/a.go:1:2: bad (r)\n");
  EXPECT_ANSWER(judgement, passing, none);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].kind, FindingKind::note);
  EXPECT_EQ(judgement.findings[0].line, 1);
}

TEST(CheckOutput, AnErrorCodeWithoutAProblemIsStillAFailure) {
  const Judgement judgement = linted(CheckParser::lines, 2, "", "cannot start\n");
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_THAT(judgement.message, HasSubstr("cannot start"));
}

TEST(CheckOutput, ACommandThatIsNowhereSaysSo) {
  EXPECT_THAT(linted(CheckParser::exit_code, 127, "").message,
              HasSubstr("neither the image nor the repository has such a command"));
  EXPECT_THAT(linted(CheckParser::exit_code, 127, "", "sh: x: not found\n").message,
              HasSubstr("ended with exit code 127: sh: x: not found"));
  EXPECT_THAT(linted(CheckParser::exit_code, 126, "").message, HasSubstr("can't be run"));
}

TEST(CheckOutput, SarifThatCannotBeReadProvesNothing) {
  EXPECT_THAT(linted(CheckParser::sarif, 1, "", "no such folder\n").message,
              HasSubstr("printed no SARIF 2.1.0 document: no such folder"));
  EXPECT_ANSWER(linted(CheckParser::sarif, 0, "all good\n"), inconclusive, parse_failed);
  EXPECT_ANSWER(linted(CheckParser::sarif, 1, "{\"version\": \"2.1.0\""), inconclusive,
                parse_failed);
}

TEST(CheckOutput, SarifFindingsHaveStableKeys) {
  const Judgement judgement = linted(CheckParser::sarif, 1, std::string(kSarif));
  EXPECT_ANSWER(judgement, failing, none);
  const Finding* finding = find(judgement, FindingKind::vet);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->key, "custom|lint/G1|a.go|bad");
}

}  // namespace
}  // namespace cupel::worker
