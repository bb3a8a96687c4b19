#include "coordinator/core/tool_desk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::coordinator {
namespace {

using testing::HasSubstr;

const ToolPin kPin{"example.com/t/cmd/t", "example.com/t", "v1.0.0", "h1:x"};
const std::string kImage = "sha256:aa";
constexpr TimePoint kDeskNow{std::chrono::hours(1)};

ToolFacts built(std::string_view content) {
  ToolFacts facts;
  facts.tool = kPin;
  facts.image = kImage;
  facts.binary = sha256(content);
  return facts;
}

ToolBuild ended(std::optional<ToolFacts> facts, Reason reason = Reason::none) {
  ToolBuild build;
  build.facts = std::move(facts);
  if (!build.facts) build.failure = "no way";
  build.reason = reason;
  return build;
}

TEST(ToolDesk, TwoBuildersThatAgreeMakeTheTool) {
  ToolDesk desk;
  ToolEntry& entry = desk.entry(kImage, kPin);
  EXPECT_FALSE(desk.settled(kImage, kPin, kDeskNow));
  entry.builds = {ended(built("a")), ended(built("a"))};
  ASSERT_TRUE(ToolDesk::conclude(entry, kDeskNow));
  ASSERT_TRUE(entry.tool);
  EXPECT_EQ(entry.tool->binary, sha256("a"));
  EXPECT_TRUE(desk.settled(kImage, kPin, kDeskNow));
}

TEST(ToolDesk, TwoBuildersThatDisagreeMakeNone) {
  ToolDesk desk;
  ToolEntry& entry = desk.entry(kImage, kPin);
  entry.builds = {ended(built("a")), ended(built("b"))};
  ASSERT_TRUE(ToolDesk::conclude(entry, kDeskNow));
  EXPECT_FALSE(entry.tool);
  EXPECT_EQ(entry.problem, Reason::scan_failed);
  EXPECT_THAT(entry.message, HasSubstr("different programs"));
}

TEST(ToolDesk, ARoundWaitsForItsLastBuilder) {
  ToolDesk desk;
  ToolEntry& entry = desk.entry(kImage, kPin);
  ToolBuild running;
  running.task = 7;
  entry.builds = {ended(built("a")), running};
  EXPECT_FALSE(ToolDesk::conclude(entry, kDeskNow));
  EXPECT_TRUE(entry.under_way());
  ToolEntry* found = nullptr;
  ToolBuild* build = build_of(desk, 7, &found);
  ASSERT_NE(build, nullptr);
  EXPECT_EQ(found, &entry);
  *build = ended(std::nullopt);
  EXPECT_TRUE(ToolDesk::conclude(entry, kDeskNow));
  EXPECT_TRUE(entry.tool);
}

TEST(ToolDesk, AFailureCountsForAWhile) {
  ToolDesk desk;
  ToolEntry& entry = desk.entry(kImage, kPin);
  entry.builds = {ended(std::nullopt, Reason::upstream)};
  ASSERT_TRUE(ToolDesk::conclude(entry, kDeskNow));
  EXPECT_EQ(entry.problem, Reason::upstream);
  EXPECT_EQ(entry.message, "no way");
  EXPECT_TRUE(desk.settled(kImage, kPin, kDeskNow));
  EXPECT_FALSE(desk.settled(kImage, kPin, kDeskNow + ToolDesk::kRetryAfter));
}

TEST(ToolDesk, AnotherPinIsAnotherTool) {
  ToolDesk desk;
  desk.restore(built("a"));
  EXPECT_TRUE(desk.settled(kImage, kPin, kDeskNow));
  ToolPin newer = kPin;
  newer.version = "v1.1.0";
  EXPECT_FALSE(desk.settled(kImage, newer, kDeskNow));
  EXPECT_FALSE(desk.entry(kImage, newer).tool);
}

}  // namespace
}  // namespace cupel::coordinator
