#include "cli/core/groups.hpp"

#include "cli/core/reports.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace cupel::cli {
namespace {

using Names = std::vector<std::string>;

json difference(const std::string& signature, const std::string& dependency = "") {
  json item = {{"kind", "test_failure"}, {"package", "m/p"},     {"test", "TestA"},
               {"signature", signature}, {"message", signature}, {"fate", "confirmed"}};
  if (!dependency.empty()) {
    item["dependency"] = {{"module", dependency}, {"from", "v1.0.0"}, {"to", "v1.1.0"}};
  }
  return item;
}

json finding(const std::string& signature, const std::string& file = "p/a.go") {
  return {{"kind", "build_failure"},
          {"signature", signature},
          {"message", signature + " said"},
          {"file", file}};
}

json unit(const std::string& name, const std::string& verdict) {
  return {{"repository", name}, {"dir", "."}, {"verdict", verdict}, {"reason", "none"}};
}

json compared(const std::string& name, json introduced, const std::string& verdict = "regressed") {
  json out = unit(name, verdict);
  out["comparison"]["introduced"] = std::move(introduced);
  return out;
}

json failing(const std::string& name, json findings) {
  json out = unit(name, "failing");
  out["findings"] = std::move(findings);
  return out;
}

std::size_t members(const std::vector<Group>& groups) {
  std::size_t sum = 0;
  for (const Group& group : groups) sum += group.units.size();
  return sum;
}

TEST(GroupFailures, EveryFailedUnitIsInOneGroupSoThatTheCountsAddUp) {
  const std::vector<json> results = {
      compared("a", json::array({difference("s1", "m/lib"), difference("s2")})),
      compared("b", json::array({difference("s2")})),
      compared("c", json::array({difference("s3", "m/lib")})),
      compared("d", json::array({difference("s4", "m/lib")})),
      failing("e", json::array({finding("s2"), finding("s9")})),
      unit("f", "inconclusive"),
      unit("g", "refused"),
      unit("h", "compatible"),
      unit("i", "broken_before"),
      unit("j", "flaky")};

  const std::vector<Group> groups = group_failures(results);

  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].id, "G1");
  EXPECT_EQ(groups[0].signature, "dependency:m/lib@v1.1.0");
  EXPECT_EQ(groups[0].units, (Names{"a", "c", "d"}));
  EXPECT_EQ(groups[1].signature, "reason:none");
  EXPECT_EQ(groups[1].units, (Names{"f", "g"}));
  EXPECT_EQ(groups[2].signature, "s2");
  EXPECT_EQ(groups[2].units, (Names{"b", "e"}));
  EXPECT_EQ(members(groups), 7U);
}

TEST(GroupFailures, WhatIsInALargerGroupCountsNoMoreForASmallerOne) {
  // "x" is on three units, two of which are in the group of "y".
  const std::vector<json> results = {failing("a", json::array({finding("y"), finding("x")})),
                                     failing("b", json::array({finding("y"), finding("x")})),
                                     failing("c", json::array({finding("y")})),
                                     failing("d", json::array({finding("y")})),
                                     failing("e", json::array({finding("x"), finding("z")})),
                                     failing("f", json::array({finding("z")}))};

  const std::vector<Group> groups = group_failures(results);

  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].signature, "y");
  EXPECT_EQ(groups[1].signature, "z");
  EXPECT_EQ(groups[1].units, (Names{"e", "f"}));
}

TEST(GroupFailures, TwoUnitsOfOneNameCountTwice) {
  const std::vector<json> results = {failing("a", json::array({finding("s")})),
                                     failing("a", json::array({finding("s")}))};

  EXPECT_EQ(members(group_failures(results)), 2U);
}

TEST(GroupFailures, ManyUnitsAddUpWhateverTheyShare) {
  std::vector<json> results;
  for (int i = 0; i < 600; ++i) {
    json findings = json::array();
    for (int k = 0; k < 4; ++k)
      findings.push_back(finding("s" + std::to_string((i * 7 + k * k * 13) % 97)));
    results.push_back(failing("u" + std::to_string(i), findings));
  }

  const std::vector<Group> groups = group_failures(results);

  EXPECT_EQ(members(groups), 600U);
  for (std::size_t i = 1; i < groups.size(); ++i)
    EXPECT_GE(groups[i - 1].units.size(), groups[i].units.size());
}

TEST(GroupFailures, TheReportSaysWhatTheCountsAddUpTo) {
  ReportData data;
  data.results = {failing("a", json::array({finding("s")})), unit("b", "inconclusive"),
                  unit("c", "passing")};

  const json report = json::parse(report_json(data));

  EXPECT_EQ(report["totals"]["failed"], 2);
  std::size_t sum = 0;
  for (const json& group : report["groups"]) sum += group["count"].get<std::size_t>();
  EXPECT_EQ(sum, 2U);
}

TEST(CausesOf, AFindingInAFileOfADependencyNamesItsVersion) {
  const auto causes =
      causes_of(failing("a", json::array({finding("s", "example.com/core@v1.2.0/core.go")})));

  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].name, "dependency:example.com/core@v1.2.0");
  EXPECT_EQ(causes[1].name, "s");
  EXPECT_EQ(causes_of(failing("a", json::array({finding("s", "odd@vendor/x.go")}))).size(), 1U);
}

json upgraded(const std::string& name, const std::string& signature, json resolved) {
  json out = compared(name, json::array({difference(signature)}));
  out["comparison"]["change"] = {{"resolved", std::move(resolved)}};
  return out;
}

TEST(GroupFailures, OneUpgradeBehindThemIsOneGroupHoweverItsFailuresRead) {
  const json lib = {{"module", "m/lib"}, {"version", "v1.1.0"}};
  const json other = {{"module", "m/other"}, {"version", "v2.0.0"}};
  json searched = upgraded("a", "s1", {lib, other});
  searched["comparison"]["culprit"] = {{"modules", json::array({lib})}, {"of", 2}};
  const json alone = upgraded("b", "s2", json::array({lib}));
  const json unknown = upgraded("c", "s3", {lib, other});

  const std::vector<Group> groups = group_failures({searched, alone, unknown});

  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(dependency_of(groups[0]), "m/lib@v1.1.0");
  EXPECT_EQ(groups[0].units, (Names{"a", "b"}));
  EXPECT_EQ(groups[1].units, (Names{"c"})) << "nobody knows which of the two it was";
}

TEST(GroupFailures, AnUpgradeThatAllUnitsHaveTellsThemNotApart) {
  const json lib = json::array({{{"module", "m/lib"}, {"version", "v1.1.0"}}});

  EXPECT_EQ(group_failures({upgraded("a", "s1", lib), upgraded("b", "s2", lib)}).size(), 2U);
}

TEST(CausesOf, WhatWasNotConfirmedIsNoCause) {
  json item = difference("s1");
  item["fate"] = "refuted";

  EXPECT_TRUE(causes_of(compared("a", json::array({item}), "flaky")).empty());
  EXPECT_EQ(causes_of(compared("a", json::array({item}), "changed_failure")).front().name,
            "reason:none");
}

TEST(CausesOf, AChangedFailureIsKnownByItsOtherWords) {
  json one = compared("a", json::array(), "changed_failure");
  one["comparison"]["altered"] = json::array({difference("new words")});
  one["comparison"]["resolved"] = json::array({difference("gone")});

  const auto causes = causes_of(one);

  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].name, "new words");
}

TEST(GroupExcerpt, IsWhatOneUnitPrinted) {
  json one = compared("a", json::array({difference("s1")}));
  one["findings"] = {{{"kind", "test_failure"},
                      {"package", "m/p"},
                      {"test", "TestA"},
                      {"message", "s1\n    a_test.go:7: want 1, have 2\n"}}};

  const std::vector<Group> groups = group_failures({one});

  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].excerpt, "s1\n    a_test.go:7: want 1, have 2");
  EXPECT_EQ(groups[0].example, "a");
}

TEST(GroupExcerpt, IsShort) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "line\n";

  EXPECT_EQ(excerpt_of("one\ntwo\n"), "one\ntwo");
  EXPECT_EQ(excerpt_of(lines).size(), 20 * 5 + std::string("…").size());
  EXPECT_LE(excerpt_of(std::string(9'000, 'x')).size(), 2'010U);
}

}  // namespace
}  // namespace cupel::cli
