#include "coordinator/core/compare/baseline.hpp"

#include "tests/unit/coordinator_compare/sides.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator::compare {
namespace {

using std::chrono::hours;

const Finding kRed = failure("m/p", "TestA");

Finding broken_build() {
  return of_kind(failure("m/p", ""), FindingKind::build_failure, "build");
}

std::string named(BaselineKey key, const ValidationSettings& settings = {}) {
  key.settings = &settings;
  return baseline_name(key);
}

TEST(BaselineName, IsAnotherWhereAnythingDiffersThatTheResultDependsOn) {
  const std::string name = named({.tree = "t", .dir = ".", .image = "sha256:a"});
  ValidationSettings shorter;
  shorter.test.short_mode = true;

  EXPECT_EQ(name.size(), 64U);
  EXPECT_EQ(named({.tree = "t", .dir = ".", .image = "sha256:a"}), name);
  EXPECT_NE(named({.tree = "u", .dir = ".", .image = "sha256:a"}), name);
  EXPECT_NE(named({.tree = "t", .dir = "sub", .image = "sha256:a"}), name);
  EXPECT_NE(named({.tree = "t", .dir = ".", .image = "sha256:b"}), name);
  EXPECT_NE(named({.tree = "t", .dir = ".", .image = "sha256:a"}, shorter), name);
}

TEST(BaselineName, IsEmptyWhereSomethingIsNotKnown) {
  EXPECT_EQ(named({.tree = "", .dir = ".", .image = "sha256:a"}), "");
  EXPECT_EQ(named({.tree = "t", .dir = ".", .image = ""}), "");
  EXPECT_EQ(baseline_name({.tree = "t", .dir = ".", .image = "sha256:a"}), "");
}

TEST(Baseline, TheFirstRunOfTheBeforeSideComesBackWithItsMarksAlone) {
  const Finding other = failure("m/q", "TestB");
  const Book made = book({result({kRed}), result({other})}, {result({other, kRed})});

  Book taken;
  ASSERT_TRUE(take_baseline(taken, baseline_text(made, nullptr)));

  ASSERT_EQ(taken.before.size(), 1U);
  EXPECT_TRUE(taken.after.empty());
  EXPECT_EQ(taken.marks.size(), 1U);
  EXPECT_EQ(taken.before.front(), made.before.front());
  // It compares like a run of one's own.
  taken.after.push_back(run_of(taken, result({kRed})));
  EXPECT_EQ(conclude(taken, {}).verdict, Verdict::broken_before);
}

TEST(Baseline, WhatIsNotConclusiveIsNotKept) {
  EXPECT_EQ(baseline_text(Book{}, nullptr), "");
  EXPECT_EQ(baseline_text(book({inconclusive(Reason::timeout)}, {}), nullptr), "");
  TaskResult cut = result({kRed});
  cut.findings_truncated = true;
  EXPECT_EQ(baseline_text(book({cut}, {}), nullptr), "");
}

TEST(Baseline, ABeforeSideThatComesAndGoesIsNotKept) {
  const Book flaky = book({result(), result({kRed})}, {result({kRed}), result({kRed})});
  const Conclusion found = conclude(flaky, {.runs = 1, .need = 1, .module = "m"});
  ASSERT_EQ(found.verdict, Verdict::flaky);
  EXPECT_EQ(baseline_text(flaky, &found), "");

  // A flake of the after side says nothing of it.
  const Book after = book({result({kRed}), result({kRed})},
                          {result({kRed, failure("m/q", "TestB")}), result({kRed})});
  const Conclusion same = conclude(after, {.runs = 1, .need = 1, .module = "m"});
  EXPECT_NE(baseline_text(after, &same), "");
}

TEST(Baseline, WhatIsTooLargeIsNotKept) {
  std::vector<Finding> many;
  for (int i = 0; i < 1'000; ++i)
    many.push_back(failure("m/p", "Test" + std::to_string(i), std::string(300, 'x')));

  EXPECT_EQ(baseline_text(book({result(many)}, {}), nullptr), "");
}

TEST(Baseline, AFailureHoldsLessLongByWhatItIs) {
  Finding sandbox = failure("m/p", "TestNet");
  sandbox.environment = "no_network";

  EXPECT_EQ(baseline_lifetime(book({result()}, {})), hours(7 * 24));
  EXPECT_EQ(baseline_lifetime(book({result({broken_build()})}, {})), hours(7 * 24));
  EXPECT_EQ(baseline_lifetime(book({result({broken_build(), kRed})}, {})), hours(24));
  EXPECT_EQ(baseline_lifetime(book({result({kRed, sandbox})}, {})), hours(6));
}

TEST(Baseline, TextThatIsNoneChangesNothing) {
  Book empty;
  for (const char* odd : {"", "{}", "[1]", R"({"before":[{"outcome":"inconclusive"}]})"})
    EXPECT_FALSE(take_baseline(empty, odd)) << odd;
  EXPECT_EQ(empty, Book{});
  Book has = book({result()}, {});
  EXPECT_FALSE(take_baseline(has, baseline_text(has, nullptr)));
}

}  // namespace
}  // namespace cupel::coordinator::compare
