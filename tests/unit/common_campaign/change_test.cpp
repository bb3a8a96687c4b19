#include "common/campaign/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::campaign {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kHead =
    "apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories: [{module: "
    "example.com/a@v1.0.0}]\n";

Campaign parsed(const std::string& yaml, const ListReader& reader = {}) {
  ParsedCampaign result = parse_yaml(kHead + yaml, "c.yaml", reader);
  EXPECT_TRUE(result) << text::render(result.diagnostics);
  return result ? *std::move(result.campaign) : Campaign{};
}

void expect_round_trip(const Campaign& campaign) {
  const auto again = from_canonical_json(to_canonical_json(campaign));

  ASSERT_TRUE(again) << again.error().text() << again.error().detail;
  EXPECT_EQ(*again, campaign);
}

TEST(ChangeKinds, AnUpgradeMayBeWrittenAsItsList) {
  const Campaign campaign = parsed(
      "change:\n  upgrade:\n    - {module: z.org/b, version: latest}\n    - {module: a.org/b, "
      "version: v1.2.3-rc.1+incompatible}\n");

  const auto& upgrade = std::get<Upgrade>(campaign.change);
  EXPECT_THAT(upgrade.modules, ElementsAre(ModuleTarget{"a.org/b", "v1.2.3-rc.1+incompatible"},
                                           ModuleTarget{"z.org/b", "latest"}));
  EXPECT_EQ(upgrade.select, Select::named);
  EXPECT_EQ(upgrade.min_age_s, 72U * 3600);
  expect_round_trip(campaign);
}

TEST(ChangeKinds, AnUpgradeTakesItsOptions) {
  const Campaign campaign = parsed(
      "change:\n  upgrade: {select: smallest, cooldown: 0, allow_major: true, deny: [b.c/d],\n"
      "    pins: [{module: a.org/b, version: v2.0.0}]}\n");

  const auto& upgrade = std::get<Upgrade>(campaign.change);
  EXPECT_EQ(upgrade.select, Select::smallest);
  EXPECT_EQ(upgrade.min_age_s, 0U);
  EXPECT_TRUE(upgrade.allow_major);
  EXPECT_THAT(upgrade.deny, ElementsAre("b.c/d"));
  EXPECT_THAT(upgrade.pins, ElementsAre(ModuleTarget{"a.org/b", "v2.0.0"}));
  expect_round_trip(campaign);
}

TEST(ChangeKinds, TheVulnerableAreAWord) {
  const Campaign campaign = parsed("change: {upgrade: {select: vulnerable}}\n");

  EXPECT_EQ(std::get<Upgrade>(campaign.change).select, Select::vulnerable);
  expect_round_trip(campaign);
}

TEST(ChangeKinds, AnotherGoVersionKeepsTheGoLineUnlessToldOtherwise) {
  const Campaign keep = parsed("change: {go: {version: \"1.26\"}}\n");
  const Campaign raise = parsed("change: {go: {version: \"1.26\", directive: raise}}\n");

  EXPECT_EQ(std::get<GoVersionChange>(keep.change), (GoVersionChange{"1.26", false}));
  EXPECT_EQ(std::get<GoVersionChange>(raise.change), (GoVersionChange{"1.26", true}));
  expect_round_trip(raise);
}

TEST(ChangeKinds, ACandidateIsAGitRefAFolderOrAVersion) {
  const Campaign campaign = parsed(
      "change:\n  replace:\n    - {module: m/c, with: {git: \"https://h/x\", ref: topic}}\n"
      "    - {module: m/b, with: {path: ../lib, ref: v2}}\n"
      "    - {module: m/a, with: {module: a.org/fork@v1.0.0}}\n");

  EXPECT_THAT(std::get<Replace>(campaign.change).modules,
              ElementsAre(Replacement{"m/a", ModuleSource{"a.org/fork", "v1.0.0"}},
                          Replacement{"m/c", GitSource{"https://h/x", "topic"}}));
  EXPECT_THAT(campaign.local_replacements,
              ElementsAre(LocalReplacement{"m/b", LocalPath{"../lib", "v2"}, {}}));
  EXPECT_EQ(campaign.local_replacements.front().place.line, 8);
  expect_round_trip(campaign);
}

TEST(ChangeKinds, APackedCandidateIsInTheCanonicalForm) {
  Campaign campaign = parsed("change: {replace: [{module: m/a, with: {path: ../lib}}]}\n");
  campaign.local_replacements.clear();
  campaign.change =
      Replace{{{"m/a", BundleSource{sha256("pack"), std::string(40, 'a'), "../lib"}}}};

  expect_round_trip(campaign);
}

TEST(ChangeKinds, ADiffIsReadByTheClientAndStored) {
  const std::string diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
  const Campaign campaign = parsed("change: {patch: {file: a.diff}}\n",
                                   [&diff](const std::string& path) -> Result<std::string> {
                                     EXPECT_EQ(path, "a.diff");
                                     return diff;
                                   });

  EXPECT_EQ(std::get<ApplyPatch>(campaign.change).diff, diff);
  expect_round_trip(campaign);
}

TEST(ChangeKinds, ADiffThatIsTooLargeOrNoneIsRefused) {
  for (const std::string& diff : {std::string("hello"), "\n@@ " + std::string(300'000, 'x')}) {
    const auto result =
        parse_yaml(std::string(kHead) + "change: {patch: {file: a.diff}}\n", "c.yaml",
                   [&diff](const std::string&) -> Result<std::string> { return diff; });

    EXPECT_FALSE(result);
  }
}

std::string faults_of_diff(const std::string& diff) {
  const ParsedCampaign result =
      parse_yaml(std::string(kHead) + "change: {patch: {file: a.diff}}\n", "c.yaml",
                 [&diff](const std::string&) -> Result<std::string> { return diff; });
  return text::render(result.diagnostics);
}

TEST(ChangeKinds, AMalformedDiffIsNamedWithThePlaceInItsFile) {
  EXPECT_THAT(
      faults_of_diff("--- a/x\n+++ b/x\n@@ -1,5 +1 @@\n-a\n+b\n"),
      HasSubstr("a.diff:3:1: change.patch: a hunk shorter than its header says (CUP-1012)"));
  EXPECT_THAT(faults_of_diff("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"),
              HasSubstr("a.diff:1:5: change.patch: '../x' is no path below the root (CUP-1012)"));
  EXPECT_THAT(faults_of_diff(""), HasSubstr("a.diff: change.patch: the patch changes no file"));
}

TEST(ChangeKinds, ADiffThatACampaignCouldNotHoldIsRefused) {
  // Canonical JSON is UTF-8; a byte of another encoding would be another one on the worker.
  EXPECT_THAT(faults_of_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+caf\xe9\n"),
              HasSubstr("a.diff:5:5: change.patch: not UTF-8"));
  EXPECT_THAT(faults_of_diff("\xff"), HasSubstr("a.diff:1:1: change.patch: not UTF-8"));
}

TEST(ChangeKinds, AMalformedDiffIsRefusedFromAClientButStaysReadableInTheStore) {
  Campaign campaign =
      parsed("change: {patch: {file: a.diff}}\n", [](const std::string&) -> Result<std::string> {
        return std::string("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
      });
  std::get<ApplyPatch>(campaign.change).diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n";
  const std::string json = to_canonical_json(campaign);

  const ParsedCampaign sent = parse_json(json);
  const Result<Campaign> stored = from_canonical_json(json);

  ASSERT_FALSE(sent);
  EXPECT_THAT(text::render(sent.diagnostics),
              HasSubstr("change.patch.diff: line 6: a hunk longer than its header says"));
  ASSERT_TRUE(stored) << stored.error().detail;
  EXPECT_EQ(stored->change, campaign.change);
}

TEST(ChangeKinds, ACampaignWithAChangeFailsOnRegressions) {
  EXPECT_THAT(parsed("").fail_on, ElementsAre(Verdict::failing, Verdict::refused));
  EXPECT_THAT(parsed("change: {go: {version: \"1.26\"}}\n").fail_on,
              ElementsAre(Verdict::regressed, Verdict::changed_failure));
  EXPECT_THAT(parsed("change: {go: {version: \"1.26\"}}\nbaseline: {mode: \"off\"}\n").fail_on,
              ElementsAre(Verdict::failing));
  EXPECT_THAT(parsed("change: {go: {version: \"1.26\"}}\ngate: {fail_on: [flaky]}\n").fail_on,
              ElementsAre(Verdict::flaky));
}

TEST(ChangeKinds, AllRepeatsMustShowADifferenceUnlessToldOtherwise) {
  EXPECT_EQ(parsed("").confirm, (Confirm{3, 3}));
  EXPECT_EQ(parsed("confirm: {runs: 5}\n").confirm, (Confirm{5, 5}));
  EXPECT_EQ(parsed("confirm: {runs: 5, need: 4}\n").confirm, (Confirm{5, 4}));
  EXPECT_EQ(parsed("confirm: {runs: 0}\n").confirm, (Confirm{0, 0}));
  EXPECT_EQ(parsed("baseline: {mode: \"off\"}\naa: 20\n").baseline, Baseline::off);
}

constexpr const char* kNoRepositories = "apiVersion: cupel/v1\nkind: Campaign\nname: n\n";

std::string faults_of(const std::string& yaml) {
  const ParsedCampaign result = parse_yaml(kNoRepositories + yaml, "c.yaml");
  EXPECT_FALSE(result);
  return text::render(result.diagnostics);
}

TEST(OwnUpgrades, EachRepositoryMayHaveItsOwn) {
  const ParsedCampaign result = parse_yaml(
      std::string(kNoRepositories) +
          "repositories:\n  - module: example.com/a@v1.0.0\n    upgrade:\n      - {module: "
          "z.org/b, version: v1.1.0}\n      - {module: a.org/b, version: latest}\n  - {file: "
          "l.txt, upgrade: [{module: m.org/c, version: patch}]}\nchange: {upgrade: {}}\n",
      "c.yaml", [](const std::string&) -> Result<std::string> {
        return std::string("example.com/b@v1.0.0\nexample.com/c@v1.0.0\n");
      });

  ASSERT_TRUE(result) << text::render(result.diagnostics);
  const auto& entries = result.campaign->repositories;
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_THAT(entries[0].upgrade,
              ElementsAre(ModuleTarget{"a.org/b", "latest"}, ModuleTarget{"z.org/b", "v1.1.0"}));
  EXPECT_THAT(entries[2].upgrade, ElementsAre(ModuleTarget{"m.org/c", "patch"}));
  expect_round_trip(*result.campaign);
}

TEST(OwnUpgrades, ARepositoryWithoutOneTakesTheCampaigns) {
  const ParsedCampaign result =
      parse_yaml(std::string(kNoRepositories) +
                     "repositories:\n  - {module: example.com/a@v1.0.0}\n  - {module: "
                     "example.com/b@v1.0.0, upgrade: "
                     "[{module: m.org/c, version: v1.2.3}]}\nchange: {upgrade: [{module: m.org/d, "
                     "version: v1.0.1}]}\n",
                 "c.yaml");

  ASSERT_TRUE(result) << text::render(result.diagnostics);
  EXPECT_TRUE(result.campaign->repositories[0].upgrade.empty());
  expect_round_trip(*result.campaign);
}

TEST(OwnUpgrades, ARepositoryThatNothingIsUpgradedInIsNamed) {
  const std::string faults = faults_of(
      "repositories:\n  - {module: example.com/a@v1.0.0, upgrade: [{module: m.org/c, version: "
      "v1.2.3}]}\n"
      "  - {module: example.com/b@v1.0.0}\nchange: {upgrade: {}}\n");

  EXPECT_THAT(faults, HasSubstr("example.com/b@v1.0.0 has no upgrade of its own"));
}

TEST(OwnUpgrades, GoWithNamedUpgradesAlone) {
  const std::string own =
      "repositories:\n  - {module: example.com/a@v1.0.0, upgrade: [{module: m.org/c, version: "
      "v1.2.3}]}\n";

  for (const char* change :
       {"", "change: {go: {version: \"1.26\"}}\n", "change: {upgrade: {select: smallest}}\n"}) {
    EXPECT_THAT(faults_of(own + change), HasSubstr("c.yaml:5:5: ")) << change;
  }
}

TEST(OwnUpgrades, AModuleStandsOnce) {
  const std::string faults = faults_of(
      "repositories:\n  - module: example.com/a@v1.0.0\n    upgrade:\n      - {module: m.org/c, "
      "version: "
      "v1.2.3}\n      - {module: m.org/c, version: v1.2.4}\nchange: {upgrade: {}}\n");

  EXPECT_THAT(faults, HasSubstr("repositories[0].upgrade: module m.org/c stands twice"));
}

}  // namespace
}  // namespace cupel::campaign
