#include "coordinator/core/compare/record.hpp"

#include "coordinator/core/compare/facts_json.hpp"
#include "tests/unit/coordinator_compare/sides.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::coordinator::compare {
namespace {

using nlohmann::json;

Book regressed_book() {
  const TaskResult red = result({failure("example.com/lib/p", "TestA"), vet("a.go", "odd")});
  Book runs = book({result(), result()}, {red, red});
  runs.change = change({{"example.com/lib", "v1.0.0", "v1.1.0", true, true}});
  runs.change->gates = {{Gate::go_directive_changed, "1.24 -> 1.26"}};
  runs.change->resolved = {{"example.com/lib", "v1.1.0"}};
  runs.change->go_before = "1.24";
  runs.change->go_after = "1.26";
  runs.change->task = TaskId{77};
  return runs;
}

TEST(BookJson, RoundTrips) {
  const Book runs = regressed_book();

  EXPECT_EQ(book_from_json(json::parse(to_json(runs).dump())), runs);
}

TEST(BookJson, WhatCantBeReadIsLeftOut) {
  EXPECT_EQ(book_from_json(json()), Book{});
  EXPECT_EQ(book_from_json(json::parse(R"({"marks":3,"before":[1],"after":[{"seen":[[7,1]]}]})"))
                .after.front()
                .seen.size(),
            0U);
}

TEST(RecordOf, SaysHowOftenEachSideShowedAFindingAndWhichDependencyMoved) {
  const Book runs = regressed_book();
  const Conclusion found = conclude(runs, {.runs = 1, .need = 1, .module = "m"});
  ASSERT_EQ(found.verdict, Verdict::regressed);

  const json record = record_of(runs, found.verdict, &found);

  ASSERT_EQ(record["introduced"].size(), record["counts"]["introduced"])
      << "a package beside its own findings is no further one: " << record["introduced"].dump(1);
  const json& one = record["introduced"][0];
  EXPECT_EQ(one["fate"], "confirmed");
  EXPECT_EQ(one["after"], json({{"hits", 2}, {"runs", 2}}));
  EXPECT_EQ(one["before"], json({{"hits", 0}, {"runs", 2}}));
  EXPECT_EQ(one["dependency"],
            json({{"module", "example.com/lib"}, {"from", "v1.0.0"}, {"to", "v1.1.0"}}));
  EXPECT_EQ(record["after"]["failed"], 2);
  EXPECT_EQ(record["before"]["failed"], 0);
}

TEST(RecordOf, APackageStandsForItsFindingsWhereTheyAreOthersEachTime) {
  const auto red = [](const char* test) { return result({failure("example.com/lib/p", test)}); };
  const Book runs =
      book({result(), result(), result()}, {red("TestA"), red("TestB"), red("TestC")});
  const Conclusion found = conclude(runs, {.runs = 2, .need = 2, .module = "m"});

  const json record = record_of(runs, found.verdict, &found);
  std::vector<std::string> confirmed;
  for (const json& one : record["introduced"]) {
    if (one["fate"] == "confirmed") confirmed.push_back(one["key"]);
  }
  EXPECT_EQ(confirmed, std::vector<std::string>{"package|example.com/lib/p|*"});
}

TEST(PatchState, IsReadyOnlyForAGoodVerdictWithoutAGate) {
  Book runs = book({result()}, {result()});
  EXPECT_EQ(patch_state(Verdict::compatible, runs), PatchState::none);
  runs.change = change();
  EXPECT_EQ(patch_state(Verdict::compatible, runs), PatchState::ready);
  EXPECT_EQ(patch_state(Verdict::fixed, runs), PatchState::ready);
  EXPECT_EQ(patch_state(Verdict::regressed, runs), PatchState::withheld);
  runs.change->gates = {{Gate::not_tidy, ""}};
  EXPECT_EQ(patch_state(Verdict::compatible, runs), PatchState::withheld);
}

TEST(RecordOf, NamesTheGatesOrTheVerdictThatWithholdAPatch) {
  Book runs = regressed_book();
  EXPECT_EQ(record_of(runs, Verdict::compatible, nullptr)["patch"]["codes"],
            json::array({"go_directive_changed"}));
  runs.change->gates = {{Gate::outside_closure, "a"}, {Gate::outside_closure, "b"}};
  EXPECT_EQ(record_of(runs, Verdict::compatible, nullptr)["patch"]["codes"],
            json::array({"outside_closure"}));
  runs.change->gates.clear();
  EXPECT_EQ(record_of(runs, Verdict::regressed, nullptr)["patch"]["codes"],
            json::array({"verdict:regressed"}));
}

TEST(RecordOf, TestsThatVanishWhileAllPassesAreRemarked) {
  TaskResult fewer = result();
  fewer.checks[0].tests = 2;
  const Book runs = book({result()}, {fewer});

  const json record = record_of(runs, Verdict::compatible, nullptr);

  EXPECT_EQ(record["remarks"][0], "tests vanished: 7 ran before, 2 with the change");
}

}  // namespace
}  // namespace cupel::coordinator::compare
