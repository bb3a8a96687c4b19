#include "coordinator/core/compare/wording.hpp"

#include "tests/unit/coordinator_compare/sides.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator::compare {
namespace {

using Runs = std::vector<std::string>;

TEST(WordingOf, NumbersOfATestAreLeftOutAndNamesAreKept) {
  Mark mark;
  mark.kind = FindingKind::test_failure;
  mark.signature = "test||got int64 3.5, want 17 of v2";

  EXPECT_EQ(wording_of(mark), "test||got int64 #.#, want # of v2");
}

TEST(WordingOf, CompilersAreTakenAtTheirWord) {
  Mark mark;
  mark.kind = FindingKind::build_failure;
  mark.signature = "build||not enough arguments: have 1, want 2";

  EXPECT_EQ(wording_of(mark), mark.signature);
}

TEST(CompareWording, WhatVariesOnOneSideIsOutOfTheComparison) {
  EXPECT_EQ(compare_wording(Runs{"key ab lost", "key cd lost"}, Runs{"key ef lost"}),
            Wording::same);
  EXPECT_EQ(compare_wording(Runs{"key ab lost", "key cd lost"}, Runs{"key ef found"}),
            Wording::other);
}

TEST(CompareWording, OneRunOfEachSideIsTakenAsItIs) {
  EXPECT_EQ(compare_wording(Runs{"a"}, Runs{"a"}), Wording::same);
  EXPECT_EQ(compare_wording(Runs{"a"}, Runs{"b"}), Wording::other);
  EXPECT_EQ(compare_wording(Runs{"a b"}, Runs{"a"}), Wording::other);
  EXPECT_EQ(compare_wording(Runs{""}, Runs{""}), Wording::same);
}

TEST(CompareWording, ASideThatDoesNotRepeatItsOwnShapeIsNoise) {
  EXPECT_EQ(compare_wording(Runs{"a", "a b"}, Runs{"c"}), Wording::noise);
  EXPECT_EQ(compare_wording(Runs{"c"}, Runs{"a", "a b"}), Wording::noise);
}

}  // namespace
}  // namespace cupel::coordinator::compare
