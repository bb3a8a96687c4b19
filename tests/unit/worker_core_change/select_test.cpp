#include "worker/core/change/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker::change {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kVersions = {"v1.0.0",
                                            "v1.0.1",
                                            "v1.1.0-rc.1",
                                            "v1.1.0",
                                            "v1.2.0",
                                            "v0.9.0",
                                            "v1.2.1-0.20240102030405-0123456789ab"};

std::string chosen(const Offers& offers) {
  const auto* best = offers.highest_eligible();
  return best == nullptr ? "none" : best->version;
}

TEST(Selection, AQueryReachesAsFarAsItSays) {
  EXPECT_EQ(chosen(judge_versions("m", "v1.0.0", kVersions, Query::patch, {})), "v1.0.1");
  EXPECT_EQ(chosen(judge_versions("m", "v1.0.0", kVersions, Query::minor, {})), "v1.2.0");
  EXPECT_EQ(chosen(judge_versions("m", "v0.9.0", kVersions, Query::latest, {})), "none")
      << "a major step has to be allowed";
  Upgrade rules;
  rules.allow_major = true;
  EXPECT_EQ(chosen(judge_versions("m", "v0.9.0", kVersions, Query::latest, rules)), "v1.2.0");
}

TEST(Selection, NothingIsEverDowngraded) {
  Upgrade rules;
  rules.pins = {{"m", "v1.0.0"}};
  EXPECT_EQ(chosen(judge_versions("m", "v1.1.0", kVersions, Query::latest, rules)), "none");
  rules.pins = {{"m", "v1.1.0"}};
  EXPECT_EQ(chosen(judge_versions("m", "v1.0.0", kVersions, Query::latest, rules)), "v1.1.0");
}

TEST(Selection, ADeniedModuleStays) {
  Upgrade rules;
  rules.deny = {"m"};
  const auto offers = judge_versions("m", "v1.0.0", kVersions, Query::latest, rules);
  EXPECT_EQ(chosen(offers), "none");
  EXPECT_THAT(candidate_of(offers, {}).notes, testing::Contains("v1.2.0: denied"));
}

TEST(Selection, TheCooldownFailsClosed) {
  constexpr std::int64_t kNow = 1'000'000;
  auto offers = judge_versions("m", "v1.0.0", {"v1.0.1", "v1.0.2", "v1.0.3", "v1.0.4", "v1.0.5"},
                               Query::latest, {});
  EXPECT_THAT(ask_times(offers, 4), ElementsAre("v1.0.5", "v1.0.4", "v1.0.3", "v1.0.2"));

  apply_cooldown(offers,
                 {{"v1.0.5", kNow + 1},
                  {"v1.0.4", std::nullopt},
                  {"v1.0.3", kNow - 3 * 3600},
                  {"v1.0.2", kNow - 80 * 3600}},
                 kNow, 72 * 3600);

  EXPECT_EQ(chosen(offers), "v1.0.2");
  EXPECT_THAT(candidate_of(offers, "v1.0.2").notes,
              ElementsAre(HasSubstr("in the future"), HasSubstr("unknown"),
                          "v1.0.3: published 3 h ago, and the cooldown is 72 h"));
  EXPECT_THAT(offers.all.front().why_not, HasSubstr("not asked"));
}

TEST(Selection, ACooldownOfNothingAsksForNothing) {
  auto offers = judge_versions("m", "v1.0.0", kVersions, Query::latest, {});
  apply_cooldown(offers, {}, 0, 0);
  EXPECT_EQ(chosen(offers), "v1.2.0");
}

TEST(Selection, TheSmallestStepIsAPatchOfTheFirstModule) {
  std::vector<Offers> all;
  all.push_back(judge_versions("b", "v1.0.0", {"v1.0.1", "v1.0.2"}, Query::latest, {}));
  all.push_back(judge_versions("a", "v1.0.0", {"v1.1.0"}, Query::latest, {}));
  all.push_back(judge_versions("c", "v1.0.0", {"v1.0.9"}, Query::latest, {}));
  EXPECT_EQ(smallest_step(all), (ModuleTarget{"b", "v1.0.2"}));
  EXPECT_EQ(smallest_step({all[1]}), (ModuleTarget{"a", "v1.1.0"}));
  EXPECT_EQ(smallest_step({}), std::nullopt);
}

TEST(Selection, AFixIsTheLowestVersionThatFixesAll) {
  const std::vector<Vulnerability> found = {
      {"GO-1", "ex.test/a", "v1.0.0", "v1.0.1", VulnLevel::module, "", "", ""},
      {"GO-2", "ex.test/a", "v1.0.0", "v1.1.0", VulnLevel::package, "", "", ""},
      {"GO-3", "ex.test/b", "v1.0.0", "v1.0.3", VulnLevel::symbol, "", "", ""},
      {"GO-4", "ex.test/c", "v1.0.0", "", VulnLevel::symbol, "", "", ""},
      {"GO-5", "stdlib", "v1.24.0", "v1.24.1", VulnLevel::symbol, "", "", ""},
  };
  const Fixes plan = plan_fixes(found);
  ASSERT_EQ(plan.fixes.size(), 2U);
  EXPECT_EQ(plan.fixes[0].module, "ex.test/b") << "what is called comes first";
  EXPECT_EQ(plan.fixes[1].needed, "v1.1.0");
  EXPECT_EQ(plan.notes.size(), 2U);
  const auto offers =
      judge_versions("ex.test/a", "v1.0.0", {"v1.0.1", "v1.1.2", "v1.2.0"}, Query::latest, {});
  EXPECT_EQ(lowest_fix(offers, "v1.1.0")->version, "v1.1.2");
  EXPECT_EQ(lowest_fix(offers, "v1.3.0"), nullptr);
}

TEST(Selection, OnlyWhatCanBeRepeatedIsAQuery) {
  EXPECT_EQ(parse_query("latest"), Query::latest);
  EXPECT_EQ(parse_query("v1.2.3-rc.1"), Query::exact);
  for (const char* text : {"master", "upgrade", "v1", "v1.2", ">=v1.2.3", "0123456789ab", ""}) {
    EXPECT_FALSE(parse_query(text)) << text;
  }
}

}  // namespace
}  // namespace cupel::worker::change
