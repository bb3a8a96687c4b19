#include "coordinator/core/compare/scan_sides.hpp"

#include "coordinator/core/compare/facts_json.hpp"
#include "coordinator/core/compare/record.hpp"
#include "coordinator/core/recipe.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::coordinator {
namespace {

using compare::Book;

Vulnerability at(std::string osv, VulnLevel level, std::string module = "example.com/m") {
  Vulnerability one;
  one.osv = std::move(osv);
  one.module = std::move(module);
  one.level = level;
  return one;
}

ScanFacts scan(std::vector<Vulnerability> all) {
  ScanFacts facts;
  facts.scanner_version = "v1.9.0";
  facts.database_id = "id";
  facts.vulnerabilities = std::move(all);
  return facts;
}

Book book(std::optional<ScanFacts> before, std::optional<ScanFacts> after) {
  Book made;
  made.scan_before = std::move(before);
  made.scan_after = std::move(after);
  made.change.emplace();
  made.change->patch = sha256("patch");
  made.change->resolved = {{"example.com/m", "v1.1.0"}};
  return made;
}

std::vector<Gate> gates(const Book& made) {
  std::vector<Gate> all;
  for (const GateFinding& one : compare::scan_gates(made)) all.push_back(one.gate);
  return all;
}

TEST(ScanSides, ACampaignWithoutScansHasNoSuchGates) {
  EXPECT_TRUE(gates(book({}, {})).empty());
}

TEST(ScanSides, AnUpgradeThatResolvesIsReady) {
  const Book made = book(scan({at("A", VulnLevel::symbol)}), scan({}));
  EXPECT_TRUE(gates(made).empty());
  EXPECT_EQ(compare::patch_state(Verdict::fixed, made), compare::PatchState::ready);
  EXPECT_EQ(compare::scan_json(made)["resolved"].size(), 1U);
}

TEST(ScanSides, AnAdvisoryOfTheUpgradedModuleThatIsStillThereWithholdsThePatch) {
  const Book made = book(scan({at("A", VulnLevel::symbol)}), scan({at("A", VulnLevel::package)}));
  EXPECT_EQ(gates(made), std::vector{Gate::advisory_not_resolved});
  EXPECT_EQ(compare::patch_state(Verdict::fixed, made), compare::PatchState::withheld);
  // Another module's advisories were not what the upgrade is for.
  EXPECT_TRUE(
      gates(book(scan({at("A", VulnLevel::symbol, "x")}), scan({at("A", VulnLevel::symbol, "x")})))
          .empty());
}

TEST(ScanSides, NewAndWorseAdvisoriesWithholdThePatch) {
  EXPECT_EQ(gates(book(scan({}), scan({at("B", VulnLevel::module, "stdlib")}))),
            std::vector{Gate::advisory_introduced});
  EXPECT_EQ(
      gates(book(scan({at("B", VulnLevel::module, "x")}), scan({at("B", VulnLevel::symbol, "x")}))),
      std::vector{Gate::advisory_introduced});
}

TEST(ScanSides, ASideWithoutAScanOrUnderOtherConditionsWithholdsThePatch) {
  EXPECT_EQ(gates(book(scan({}), {})), std::vector{Gate::scan_inconclusive});
  EXPECT_EQ(gates(book({}, scan({}))), std::vector{Gate::scan_inconclusive});
  ScanFacts other = scan({});
  other.database_id = "other";
  EXPECT_EQ(gates(book(scan({}), other)), std::vector{Gate::scan_not_bound});
}

TEST(ScanSides, TheScansOfABookSurviveTheStore) {
  const Book made = book(scan({at("A", VulnLevel::symbol)}), scan({}));
  EXPECT_EQ(compare::book_from_json(compare::to_json(made)), made);
}

TaskResult executed(Outcome outcome, std::optional<ScanFacts> facts) {
  TaskResult result;
  result.task = TaskId{5};
  result.outcome = outcome;
  result.scan = std::move(facts);
  return result;
}

Upgrade upgrade_of_vulnerable() {
  Upgrade upgrade;
  upgrade.select = Select::vulnerable;
  return upgrade;
}

TEST(ScanSides, AnUpgradeOfWhatIsVulnerableGetsWhatTheScanFound) {
  planner::Question question;
  question.change = upgrade_of_vulnerable();
  planner::Progress progress;
  UnitInfo unit;
  planner::record(progress, question, {planner::Stage::modules}, executed(Outcome::passing, {}));
  planner::record(progress, question, {planner::Stage::execute_before},
                  executed(Outcome::failing, scan({at("A", VulnLevel::symbol)})));
  const auto plan = planner::plan_next(question, unit, "c", progress);
  const auto* next = std::get_if<planner::NextTask>(&plan);
  ASSERT_NE(next, nullptr);
  const auto* mutate = std::get_if<Mutate>(&next->work);
  ASSERT_NE(mutate, nullptr);
  ASSERT_EQ(mutate->vulnerabilities.size(), 1U);
  EXPECT_EQ(mutate->vulnerabilities[0].osv, "A");
}

TEST(ScanSides, WithoutAConclusiveScanNothingIsUpgraded) {
  planner::Question question;
  question.change = upgrade_of_vulnerable();
  planner::Progress progress;
  UnitInfo unit;
  planner::record(progress, question, {planner::Stage::modules}, executed(Outcome::passing, {}));
  planner::record(progress, question, {planner::Stage::execute_before},
                  executed(Outcome::failing, {}));
  const auto plan = planner::plan_next(question, unit, "c", progress);
  const auto* judgement = std::get_if<planner::Judgement>(&plan);
  ASSERT_NE(judgement, nullptr);
  EXPECT_EQ(judgement->verdict, Verdict::inconclusive);
  EXPECT_EQ(judgement->reason, Reason::scan_failed);
}

}  // namespace
}  // namespace cupel::coordinator
