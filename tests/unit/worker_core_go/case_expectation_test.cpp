#include "tests/support/case_expectation.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::cases {
namespace {

using Json = nlohmann::json;

Finding finding(FindingKind kind, std::string package, std::string test, std::string message) {
  Finding out;
  out.kind = kind;
  out.package = std::move(package);
  out.test = std::move(test);
  out.message = std::move(message);
  return out;
}

const Json kExpect = Json::parse(R"({"right_outcome": "failing", "expected_findings": [
  {"kind": "test_failure", "package": "m/p", "test": "T", "message_pattern": "p_test\\.go:\\d+: red"}]})");

TEST(CaseExpectation, AgreesWithTheExpectedFindingAndTheAllowedOnes) {
  const Answer answer{Outcome::failing,
                      Reason::none,
                      {finding(FindingKind::test_failure, "m/p", "T", "p_test.go:13: red"),
                       finding(FindingKind::test_failure_derived, "m/p", "", ""),
                       finding(FindingKind::note, "", "", "cached_result")}};
  EXPECT_TRUE(differences(kExpect, answer).empty());
}

TEST(CaseExpectation, SeesEachKindOfDifference) {
  EXPECT_EQ(differences(kExpect, {Outcome::failing, Reason::none, {}}).size(), 1U);
  Answer answer{Outcome::inconclusive,
                Reason::timeout,
                {finding(FindingKind::test_failure, "m/p", "T", "p_test.go:13: red"),
                 finding(FindingKind::vet, "m/p", "", "x")}};
  const auto lines = differences(kExpect, answer);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "outcome: expected failing, got inconclusive:timeout");
  EXPECT_NE(lines[1].find("not expected: vet"), std::string::npos);
}

TEST(CaseExpectation, ComparesTheFieldsThatAreGiven) {
  Json expect = kExpect;
  expect["expected_findings"][0]["inferred"] = true;
  expect["environment_tag"] = "readonly_source";
  Answer answer{Outcome::failing,
                Reason::none,
                {finding(FindingKind::test_failure, "m/p", "T", "p_test.go:13: red")}};
  EXPECT_FALSE(differences(expect, answer).empty());
  answer.findings[0].inferred = true;
  EXPECT_EQ(differences(expect, answer).size(), 1U) << "the tag";
  answer.findings[0].environment = "readonly_source";
  EXPECT_TRUE(differences(expect, answer).empty());
}

TEST(CaseExpectation, WantsTheTestsThatDidNotRunListed) {
  Json expect = kExpect;
  expect["tests_not_run"] = {"TestC"};
  Answer answer{Outcome::failing,
                Reason::none,
                {finding(FindingKind::test_failure, "m/p", "T", "p_test.go:13: red")}};
  EXPECT_EQ(differences(expect, answer).size(), 1U);
  answer.findings.push_back(
      finding(FindingKind::note, "m/p", "TestC", "not_run: the package ended first"));
  EXPECT_TRUE(differences(expect, answer).empty());
}

TEST(CaseExpectation, ARepositoryHasTheWorstOutcomeOfItsUnits) {
  const Answer pass{Outcome::passing, Reason::none, {}};
  const Answer refused{Outcome::refused, Reason::bad_go_mod, {}};
  const Answer unsure{Outcome::inconclusive, Reason::timeout, {}};
  const Answer fail{Outcome::failing, Reason::none, {}};
  EXPECT_EQ(combine(std::vector{pass, refused}).reason, Reason::bad_go_mod);
  EXPECT_EQ(combine(std::vector{refused, unsure}).outcome, Outcome::inconclusive);
  EXPECT_EQ(combine(std::vector{unsure, fail, pass}).outcome, Outcome::failing);
}

TEST(CaseExpectation, ReadsAResultAsTheStoreKeepsIt) {
  const auto answer = answer_from_json(Json::parse(
      R"({"outcome": "inconclusive", "reason": "timeout", "findings": [{"kind": "note", "message": "x"}]})"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->reason, Reason::timeout);
  ASSERT_EQ(answer->findings.size(), 1U);
  EXPECT_EQ(answer->findings[0].message, "x");
  EXPECT_FALSE(answer_from_json(Json::parse(R"({"outcome": "odd"})")));
}

}  // namespace
}  // namespace cupel::cases
