#include "cli/core/gate.hpp"

#include "cli/core/exit_codes.hpp"

#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

ReportData data_of(const std::vector<std::string>& verdicts, json gate = nullptr,
                   const std::string& state = "finished") {
  ReportData data;
  data.campaign = {{"id", "c-1"}, {"state", state}};
  if (!gate.is_null()) data.document = {{"gate", std::move(gate)}};
  for (const std::string& verdict : verdicts) {
    data.results.push_back({{"verdict", verdict.empty() ? json(nullptr) : json(verdict)}});
  }
  return data;
}

TEST(Gate, PassesWithoutAForbiddenVerdict) {
  EXPECT_EQ(judge_gate(data_of({"passing", "cancelled"})).exit_code, kExitDone);
  EXPECT_EQ(judge_gate(data_of({})).exit_code, kExitDone);
}

TEST(Gate, WithoutAWordInTheFileNothingUnansweredPasses) {
  EXPECT_EQ(judge_gate(data_of({"passing", "refused"})).exit_code, kExitGate);
  EXPECT_EQ(judge_gate(data_of({"passing", "inconclusive"})).exit_code, kExitInconclusive);
}

TEST(Gate, FailsOnTheVerdictsOfTheCampaign) {
  const GateAnswer answer = judge_gate(data_of({"failing", "failing", "passing"}));
  EXPECT_EQ(answer.exit_code, kExitGate);
  EXPECT_EQ(answer.sentence, "gate failed: 2 failing");
  EXPECT_EQ(judge_gate(data_of({"failing"}, {{"fail_on", json::array()}})).exit_code, kExitDone);
  EXPECT_EQ(judge_gate(data_of({"refused"}, {{"fail_on", {"refused"}}})).exit_code, kExitGate);
}

TEST(Gate, TooManyInconclusiveUnitsAreNeitherPassNorFail) {
  const json gate = {{"fail_on", {"failing"}}, {"max_inconclusive_ratio", 0.25}};
  EXPECT_EQ(judge_gate(data_of({"passing", "passing", "passing", "inconclusive"}, gate)).exit_code,
            kExitDone);
  EXPECT_EQ(judge_gate(data_of({"passing", "passing", "inconclusive"}, gate)).exit_code,
            kExitInconclusive);
  EXPECT_EQ(judge_gate(data_of({"failing", "inconclusive"}, gate)).exit_code, kExitGate)
      << "a failure is known all the same";
}

TEST(Gate, WhereNothingWasTestedNothingPasses) {
  const json gate = {{"fail_on", {"regressed"}}};

  const GateAnswer answer = judge_gate(data_of({"refused", "refused", "not_affected"}, gate));

  EXPECT_EQ(answer.exit_code, kExitInconclusive);
  EXPECT_EQ(answer.sentence, "nothing was tested: 3 units = 2 refused + 1 not_affected");
  EXPECT_EQ(judge_gate(data_of({"refused", "compatible"}, gate)).exit_code, kExitDone);
  EXPECT_EQ(judge_gate(data_of({"not_affected"}, gate)).sentence,
            "gate passed: the change means nothing to any unit");
  const json anything = {{"fail_on", json::array()}, {"max_inconclusive_ratio", 1}};
  EXPECT_EQ(judge_gate(data_of({"refused"}, anything)).exit_code, kExitDone);
}

TEST(Gate, AUnitThatFailedBeforeCountsWhereTheChangeMadeItWorse) {
  const json gate = {{"fail_on", {"regressed", "changed_failure"}}};
  ReportData data = data_of({"changed_failure", "changed_failure", "compatible"}, gate);
  data.results[0]["fault"] = "repository";
  data.results[1]["fault"] = "repository";
  EXPECT_EQ(judge_gate(data).exit_code, kExitDone);

  data.results[1]["fault"] = "change";

  EXPECT_EQ(judge_gate(data).sentence, "gate failed: 1 changed_failure");
}

TEST(Gate, ACancelledOrOpenCampaignPassesNothing) {
  EXPECT_EQ(judge_gate(data_of({"cancelled"}, nullptr, "cancelled")).exit_code, kExitFailed);
  EXPECT_EQ(judge_gate(data_of({"passing", ""}, nullptr, "running")).exit_code, kExitFailed);
}

TEST(ExitCodes, ErrorsAndTheParserUseTheOneTable) {
  EXPECT_EQ(exit_code_of({Errc::unauthenticated, "", "", ""}), kExitForbidden);
  EXPECT_EQ(exit_code_of({Errc::coordinator_unreachable, "", "", ""}), kExitUnreachable);
  EXPECT_EQ(exit_code_of({Errc::not_found, "", "", ""}), kExitNotFound);
  EXPECT_EQ(exit_code_of({Errc::unknown_key, "", "", ""}), kExitUsage);
  EXPECT_EQ(exit_code_of({Errc::cancelled, "", "", ""}), kExitInterrupted);
  EXPECT_EQ(exit_code_of_parser(0), kExitDone);
  for (int code = 100; code < 128; ++code) EXPECT_EQ(exit_code_of_parser(code), kExitUsage);
  for (const ErrorInfo& info : error_registry()) {
    EXPECT_NE(exit_codes_help().find("  " + std::to_string(info.exit_code) + "  "),
              std::string::npos)
        << info.label;
  }
}

}  // namespace
}  // namespace cupel::cli
