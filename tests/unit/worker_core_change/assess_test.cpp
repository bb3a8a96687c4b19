#include "worker/core/change/assess_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker::change {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> notes_of(const Assessment& assessed) {
  std::vector<std::string> all;
  for (const auto& one : assessed.notes) all.push_back(one.message);
  return all;
}

BuildList modules(std::string_view json) {
  const auto parsed = parse_module_list(json);
  return parsed ? build_list(*parsed) : BuildList{};
}

/// A unit that requires `a`, upgraded to v1.1.0.
Applied upgraded() {
  Applied applied;
  applied.before.mod = parse_go_mod("module m\n\ngo 1.24\n\nrequire a v1.0.0\n");
  applied.after.mod = parse_go_mod("module m\n\ngo 1.24\n\nrequire a v1.1.0\n");
  applied.before.modules =
      modules(R"({"Path": "m", "Main": true}{"Path": "a", "Version": "v1.0.0"})");
  applied.after.modules = modules(R"({"Path": "a", "Version": "v1.1.0"})");
  applied.targets = {{"a", "v1.1.0"}};
  return applied;
}

TEST(Assessment, APlainUpgradeIsReady) {
  const auto assessed = assess_change(upgraded());
  EXPECT_EQ(assessed.not_affected, NotAffected::none);
  EXPECT_THAT(assessed.gates, IsEmpty());
  EXPECT_THAT(assessed.notes, IsEmpty());
  ASSERT_EQ(assessed.moved.size(), 1U);
  EXPECT_EQ(assessed.moved[0], (ModuleMove{"a", "v1.0.0", "v1.1.0", true, true}));
}

TEST(Assessment, EveryModuleThatMovedIsTold) {
  auto applied = upgraded();
  applied.before.modules.merge(modules(R"({"Path": "b", "Version": "v1.0.0"})"));
  applied.after.modules.merge(
      modules(R"({"Path": "b", "Version": "v1.2.0"}{"Path": "n", "Version": "v0.1.0"})"));
  applied.graph = {{"a@v1.1.0", {"b@v1.2.0", "n@v0.1.0"}}};
  const auto assessed = assess_change(applied);
  EXPECT_THAT(notes_of(assessed), Contains("also changed: b v1.0.0 -> v1.2.0"));
  EXPECT_THAT(notes_of(assessed), Contains("also changed: n (none) -> v0.1.0"));
  EXPECT_THAT(assessed.gates, IsEmpty());
}

TEST(Assessment, AGoLineThatWasRaisedIsToldAndWithholdsThePatch) {
  auto applied = upgraded();
  applied.after.mod = parse_go_mod("module m\n\ngo 1.25.0\n\nrequire a v1.1.0\n");
  const auto assessed = assess_change(applied);
  EXPECT_THAT(notes_of(assessed), Contains("go directive 1.24 -> 1.25.0"));
  EXPECT_EQ(assessed.go_after, "1.25.0");
  ASSERT_EQ(assessed.gates.size(), 1U);
  EXPECT_EQ(assessed.gates[0].gate, Gate::go_directive_changed);
}

TEST(Assessment, ATargetThatTidyDroppedIsNotUsed) {
  auto applied = upgraded();
  applied.after.mod = parse_go_mod("module m\n\ngo 1.24\n");
  applied.after.modules.clear();
  const auto assessed = assess_change(applied);
  EXPECT_EQ(assessed.not_affected, NotAffected::not_used);
  EXPECT_TRUE(assessed.nothing_left);
  EXPECT_THAT(notes_of(assessed), Contains(HasSubstr("not_used: a@v1.1.0")));
}

TEST(Assessment, AReplacedTargetHasNoEffect) {
  auto applied = upgraded();
  applied.after.modules = modules(
      R"({"Path": "a", "Version": "v1.1.0", "Replace": {"Path": "./local", "Dir": "/src/local"}})");
  const auto assessed = assess_change(applied);
  EXPECT_EQ(assessed.not_affected, NotAffected::replaced_no_effect);
  EXPECT_FALSE(assessed.nothing_left);
  EXPECT_THAT(notes_of(assessed), Contains(HasSubstr("replaced_no_effect: a@v1.1.0")));
}

TEST(Assessment, ATargetOfToolsAloneIsNoEvidence) {
  auto applied = upgraded();
  applied.only_for_tools = {"a"};
  EXPECT_EQ(assess_change(applied).not_affected, NotAffected::tool_only);
  EXPECT_TRUE(may_be_tool_only(
      parse_go_mod("module m\n\nrequire a v1.0.0 // indirect\n\ntool a/cmd/gen\n"), "a"));
  EXPECT_FALSE(may_be_tool_only(parse_go_mod("module m\n\nrequire a v1.0.0\n\ntool a/cmd\n"), "a"));
  EXPECT_FALSE(may_be_tool_only(
      parse_go_mod("module m\n\nrequire a v1.0.0 // indirect\n\ntool ab/cmd\n"), "a"));
}

TEST(Assessment, OneOfTwoTargetsIsEnoughToBeAffected) {
  auto applied = upgraded();
  applied.targets.push_back({"gone", "v1.0.0"});
  EXPECT_EQ(assess_change(applied).not_affected, NotAffected::none);
}

TEST(Assessment, ATidyThatFailedIsAGateAndANote) {
  auto applied = upgraded();
  applied.tidy.failed = true;
  applied.tidy.words =
      "m/a tested by\n\tm/a.test imports\n\tex.test/gone: cannot find module\nm/b imports\n\tx: y";
  const auto assessed = assess_change(applied);
  ASSERT_EQ(assessed.gates.size(), 1U);
  EXPECT_EQ(assessed.gates[0].gate, Gate::tidy_failed);
  EXPECT_EQ(assessed.gates[0].detail,
            "m/a tested by m/a.test imports ex.test/gone: cannot find module");
  EXPECT_THAT(notes_of(assessed), Contains(HasSubstr("ex.test/gone")));
}

TEST(Assessment, ATidyThatIsNotIdempotentIsAGate) {
  auto applied = upgraded();
  applied.tidy.idempotent = false;
  ASSERT_EQ(assess_change(applied).gates.size(), 1U);
  EXPECT_EQ(assess_change(applied).gates[0].gate, Gate::not_tidy);
}

TEST(Assessment, WarningsOfTheToolchainBecomeNotes) {
  auto applied = upgraded();
  applied.warnings = {"a@v1.1.0: retracted by module author: published by mistake",
                      "module a is deprecated: use b instead."};
  EXPECT_THAT(notes_of(assess_change(applied)),
              testing::ElementsAre(HasSubstr("retracted: a@v1.1.0"),
                                   HasSubstr("deprecated: module a is deprecated")));
}

TEST(Assessment, OnlyObjectsAreAModuleList) {
  EXPECT_FALSE(parse_module_list("{} x"));
  EXPECT_FALSE(parse_module_list(R"({"Path": "a")"));
  EXPECT_TRUE(parse_module_list(""));
}

}  // namespace
}  // namespace cupel::worker::change
