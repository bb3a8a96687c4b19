// Every recording of a real go command must give the answer that its case expects.
#include "tests/support/case_expectation.hpp"
#include "tests/unit/worker_core_go/recording.hpp"
#include "worker/core/go/judge.hpp"

#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

Judgement judged(const recorded::Unit& unit) {
  Judgement judgement = judge(unit.context, unit.runs);
  for (const CutShort& package : judgement.cut_short) {
    for (const recorded::Source& source : unit.sources) {
      if (source.package == package.package) {
        note_tests_not_run(judgement, package, unit.context.unit, source.texts);
      }
    }
  }
  return judgement;
}

std::string all_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

class Recorded : public testing::TestWithParam<std::string> {};

TEST_P(Recorded, GivesTheAnswerOfItsCase) {
  const recorded::Case recording = recorded::load(GetParam());
  std::vector<cases::Answer> answers;
  for (const recorded::Unit& unit : recording.units) {
    Judgement judgement = judged(unit);
    answers.push_back({judgement.outcome, judgement.reason, std::move(judgement.findings)});
  }

  const auto differences = cases::differences(recording.expect, cases::combine(answers));

  EXPECT_TRUE(differences.empty()) << all_lines(differences);
}

TEST_P(Recorded, IdentifiesEveryFinding) {
  const recorded::Case recording = recorded::load(GetParam());
  for (const recorded::Unit& unit : recording.units) {
    const Judgement judgement = judged(unit);
    for (const Finding& finding : judgement.findings) {
      EXPECT_FALSE(finding.key.empty()) << finding.message;
      EXPECT_FALSE(finding.signature.empty()) << finding.message;
      EXPECT_EQ(finding.message.find('\0'), std::string::npos);
    }
    if (judgement.outcome != Outcome::passing) {
      EXPECT_FALSE(judgement.message.empty());
    }
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = "Case_" + info.param;
  for (char& c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fine) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(GoStreams, Recorded, testing::ValuesIn(recorded::names()), test_name);

}  // namespace
}  // namespace cupel::worker
