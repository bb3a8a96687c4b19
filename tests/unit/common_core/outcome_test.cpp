#include "common/core/outcome.hpp"

#include <gtest/gtest.h>

namespace cupel {
namespace {

template <typename Enum>
void expect_names_round_trip() {
  for (std::size_t i = 0; i < count_of<Enum>(); ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(parse_name<Enum>(name(value)), value) << name(value);
  }
  EXPECT_FALSE(parse_name<Enum>("no such word"));
  EXPECT_EQ(name(static_cast<Enum>(255)), "unknown");
}

TEST(Outcome, EveryNameIsParsedBack) {
  expect_names_round_trip<TaskKind>();
  expect_names_round_trip<CheckKind>();
  expect_names_round_trip<Outcome>();
  expect_names_round_trip<Verdict>();
  expect_names_round_trip<Fault>();
  expect_names_round_trip<Reason>();
  expect_names_round_trip<FindingKind>();
}

TEST(Outcome, ReasonsBelongToTheirClass) {
  EXPECT_EQ(class_of(Reason::none), Outcome::passing);
  EXPECT_EQ(class_of(Reason::timeout), Outcome::inconclusive);
  EXPECT_EQ(class_of(Reason::upstream), Outcome::inconclusive);
  EXPECT_EQ(class_of(Reason::alternates_outside), Outcome::refused);
  EXPECT_EQ(class_of(Reason::ref_not_found), Outcome::refused);
}

TEST(Outcome, FleetReasonsWinThenResourcesThenTime) {
  EXPECT_EQ(stronger_reason(Reason::timeout, Reason::engine), Reason::engine);
  EXPECT_EQ(stronger_reason(Reason::timeout, Reason::resource_memory), Reason::resource_memory);
  EXPECT_EQ(stronger_reason(Reason::output_truncated, Reason::incomplete_stream), Reason::output_truncated);
  EXPECT_EQ(stronger_reason(Reason::none, Reason::unexplained_exit), Reason::unexplained_exit);
}

}  // namespace
}  // namespace cupel
