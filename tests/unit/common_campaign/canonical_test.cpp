#include "common/campaign/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::campaign {
namespace {

Campaign full_campaign() {
  Campaign campaign;
  campaign.name = "full";
  campaign.description = "line\nand \"quotes\" and ä";
  campaign.owner = "team";
  campaign.labels = {{"a", "b"}};
  campaign.priority = 7;
  campaign.repositories = {
      {GitSource{"https://h/x.git", "main"}, {"sub"}, {}, {}},
      {ModuleSource{"example.com/m", "v1.0.0"}, {}, {}, {}},
      {BundleSource{sha256("pack"), std::string(40, 'a'), "../folder"}, {}, {}, {}},
      {RefusedSource{"../odd", Reason::hostile_git_config, "core.fsmonitor is set"}, {}, {}, {}},
      {LocalPath{"../p", ""}, {}, {}, {}},
  };
  campaign.settings.packages = {"./a/..."};
  campaign.settings.tags = {"x"};
  campaign.settings.vet = false;
  campaign.settings.test.timeout_s = 0;
  campaign.settings.test.shuffle = "on";
  campaign.settings.custom = {{"lint", {"go", "vet"}, 61}};
  campaign.settings.check_limit_s = 3661;
  campaign.settings.limits = {1234, 100'000'001, 99, 50'000'000, 5000};
  campaign.settings.image = "1.25";
  campaign.max_parallel = 3;
  campaign.fail_on = {Verdict::inconclusive, Verdict::failing};
  campaign.max_inconclusive_ratio = 0.001;
  campaign.keep_logs = KeepLogs::none;
  return campaign;
}

TEST(CanonicalJson, RoundTripsEveryField) {
  const Campaign campaign = full_campaign();

  const auto again = from_canonical_json(to_canonical_json(campaign));

  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, campaign);
  EXPECT_EQ(to_canonical_json(*again), to_canonical_json(campaign));
}

TEST(CanonicalJson, KeepsEachWayToFillABuildCache) {
  for (std::size_t i = 0; i < count_of<BuildCache>(); ++i) {
    Campaign campaign = full_campaign();
    campaign.settings.build_cache = static_cast<BuildCache>(i);

    const auto again = from_canonical_json(to_canonical_json(campaign));

    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->settings.build_cache, campaign.settings.build_cache);
  }
}

TEST(CanonicalJson, TwoSpellingsOfOneCampaignHaveOneDigest) {
  const std::string head =
      "apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories: [{module: "
      "example.com/a@v1.0.0}]\n";
  const auto a = parse_yaml(head + "sandbox: {limits: {memory: 2GiB}}\n", "a");
  const auto b =
      parse_yaml("# comment\n" + head + "sandbox:\n  limits:\n    memory: 2048MiB\n", "b");

  ASSERT_TRUE(a && b);
  EXPECT_EQ(digest_of(*a.campaign), digest_of(*b.campaign));
}

TEST(CanonicalJson, ItsBytesAreStable) {
  Campaign campaign;
  campaign.name = "n";
  campaign.repositories = {{ModuleSource{"example.com/a", "v1.0.0"}, {}, {}, {}}};

  EXPECT_EQ(
      to_canonical_json(campaign),
      R"({"aa":0,"apiVersion":"cupel/v1","baseline":{"mode":"auto"},"change":{"none":{}},"confirm":{"need":3,"runs":3},"description":"","gate":{"fail_on":["failing","refused"],"max_inconclusive_ratio":0.05},)"
      R"("kind":"Campaign","labels":{},"name":"n","output":{"keep_logs":"all"},"owner":"","priority":0,)"
      R"("repositories":[{"module":"example.com/a@v1.0.0"}],)"
      R"("sandbox":{"build_cache":"seeded","c_compiler":true,"egress":"any","image":"auto","limits":{"cpus":2.0,"memory":"2GiB","output":"4MiB","pids":512,"tmp":"1GiB"},)"
      R"("private":{"gonosumdb":"","goprivate":""},"timeouts":{"acquire":"10m","check":"0"}},)"
      R"("strategy":{"deadline":"24h","max_parallel":0,"retries":{"infra_error":3,"timeout":1}},)"
      R"("validate":{"build":{"enabled":true},"checks":[],"packages":["./..."],"scan":{"enabled":false},"tags":[],)"
      R"("test":{"count":1,"enabled":true,"race":false,"run":"","short":false,"shuffle":"","skip":"","timeout":"10m"},"vet":{"enabled":true}}})");
}

TEST(CanonicalJson, IsCheckedLikeAFile) {
  EXPECT_FALSE(from_canonical_json("{"));
  EXPECT_FALSE(from_canonical_json("[]"));
  const auto result = parse_json(
      R"({"apiVersion":"cupel/v1","kind":"Campaign","name":"n","nme":1,"repositories":[{"bundle":"xyz","commit":"1"},{"refused":{"name":"a","reason":"none"}}]})");
  EXPECT_EQ(result.diagnostics.size(), 4U) << text::render(result.diagnostics);
}

TEST(CanonicalJson, OnlyTheClientWritesPacksAndRefusals) {
  const auto result =
      parse_yaml("apiVersion: cupel/v1\nkind: Campaign\nname: n\nrepositories:\n  - bundle: " +
                     sha256("x").hex() + "\n",
                 "c.yaml");

  ASSERT_FALSE(result);
  EXPECT_EQ(result.diagnostics[0].code, Errc::missing_key) << text::render(result.diagnostics);
  EXPECT_EQ(result.diagnostics[1].code, Errc::unknown_key) << text::render(result.diagnostics);
}

}  // namespace
}  // namespace cupel::campaign
