#include "common/campaign/parse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::campaign {
namespace {

using ::testing::ElementsAre;

constexpr const char* kBareHead = "apiVersion: cupel/v1\nkind: Campaign\nname: first\n";

Campaign parsed_whole(const std::string& yaml, const ListReader& reader = {}) {
  const ParsedCampaign result = parse_yaml(yaml, "c.yaml", reader);
  EXPECT_TRUE(result) << text::render(result.diagnostics);
  return result.campaign.value_or(Campaign{});
}

TEST(CampaignFile, TheShortestOneGetsEveryDefault) {
  const Campaign campaign =
      parsed_whole(std::string(kBareHead) + "repositories:\n  - module: example.com/a@v1.0.0\n");

  Campaign expected;
  expected.name = "first";
  expected.repositories.push_back({ModuleSource{"example.com/a", "v1.0.0"}, {}, {}, {}});
  EXPECT_EQ(campaign, expected);
  EXPECT_EQ(campaign.repositories[0].place.line, 5);
  EXPECT_EQ(campaign.repositories[0].place.column, 5);
}

TEST(CampaignFile, EveryKeyReachesItsSetting) {
  const Campaign campaign = parsed_whole(std::string(kBareHead) + R"(
description: "two\nlines"
owner: team-a
labels: {tier: "1", on: off}
priority: -5
repositories:
  - git: https://git.example.org/team/service.git
    ref: "1.20"
    subdirs: [a, b/c]
  - git: git@git.example.org:team/other.git
  - path: ../local
    ref: main
change: {none: {}}
validate:
  packages: [./..., ./cmd/x]
  tags: [integration, linux]
  build: {enabled: false}
  vet: {enabled: false}
  test:
    enabled: true
    timeout: 2m30s
    count: 3
    race: true
    short: true
    shuffle: "7"
    run: ^TestA$
    skip: TestB
  checks:
    - name: lint
      command: [go, run, ./lint]
      timeout: 90s
sandbox:
  image: "1.26"
  c_compiler: false
  build_cache: empty
  egress: enforced
  limits: {cpus: 1.5, memory: 768MiB, pids: 1024, tmp: 256MiB, output: 16MiB}
  timeouts: {acquire: 5m, check: 12s}
  private: {goprivate: "*.corp.example,git.example.org/x", gonosumdb: git.example.org}
strategy: {max_parallel: 8, retries: {infra_error: 5, timeout: 0}, deadline: 90m}
gate: {fail_on: [failing, refused], max_inconclusive_ratio: 0.05}
output: {keep_logs: failed}
)");

  EXPECT_EQ(campaign.description, "two\nlines");
  EXPECT_EQ(campaign.labels, (std::map<std::string, std::string>{{"tier", "1"}, {"on", "off"}}));
  EXPECT_EQ(campaign.priority, -5);
  ASSERT_EQ(campaign.repositories.size(), 3U);
  EXPECT_EQ(campaign.repositories[0].source,
            (decltype(RepositoryEntry::source){
                GitSource{"https://git.example.org/team/service.git", "1.20"}}));
  EXPECT_THAT(campaign.repositories[0].subdirs, ElementsAre("a", "b/c"));
  EXPECT_EQ(campaign.repositories[2].source,
            (decltype(RepositoryEntry::source){LocalPath{"../local", "main"}}));
  const ValidationSettings& settings = campaign.settings;
  EXPECT_THAT(settings.packages, ElementsAre("./...", "./cmd/x"));
  EXPECT_THAT(settings.tags, ElementsAre("integration", "linux"));
  EXPECT_FALSE(settings.build);
  EXPECT_FALSE(settings.vet);
  EXPECT_EQ(settings.test, (TestSettings{true, 150, 3, true, true, "7", "^TestA$", "TestB"}));
  EXPECT_THAT(settings.custom, ElementsAre(CustomCheck{"lint", {"go", "run", "./lint"}, 90}));
  EXPECT_EQ(settings.image, "1.26");
  EXPECT_TRUE(settings.image_without_c_compiler);
  EXPECT_EQ(settings.build_cache, BuildCache::empty);
  EXPECT_TRUE(settings.require_enforced_egress);
  EXPECT_EQ(settings.limits, (RunLimits{1500, 768ULL << 20, 1024, 256ULL << 20, 16ULL << 20}));
  EXPECT_EQ(settings.acquire_limit_s, 300U);
  EXPECT_EQ(settings.check_limit_s, 12U);
  EXPECT_EQ(settings.go_private, "*.corp.example,git.example.org/x");
  EXPECT_EQ(settings.go_nosumdb, "git.example.org");
  EXPECT_EQ(campaign.max_parallel, 8U);
  EXPECT_EQ(campaign.retries_infra, 5U);
  EXPECT_EQ(campaign.retries_timeout, 0U);
  EXPECT_EQ(campaign.deadline_s, 5400U);
  EXPECT_THAT(campaign.fail_on, ElementsAre(Verdict::failing, Verdict::refused));
  EXPECT_EQ(campaign.max_inconclusive_ratio, 0.05);
  EXPECT_EQ(campaign.keep_logs, KeepLogs::failed);
}

TEST(CampaignFile, TestFlagsAreTheSameAsTheirKeys) {
  const Campaign campaign =
      parsed_whole(std::string(kBareHead) +
                   "repositories: [{module: example.com/a@v1.0.0}]\n"
                   "validate: {test: {flags: [-race, --short, -count=2, "
                   "-timeout=5m, -run=X, -skip=Y, -shuffle=on, \"-tags=a,b\"]}}\n");

  EXPECT_EQ(campaign.settings.test, (TestSettings{true, 300, 2, true, true, "on", "X", "Y"}));
  EXPECT_THAT(campaign.settings.tags, ElementsAre("a", "b"));
}

TEST(CampaignFile, DefaultsOfKeysThatComeLaterAreHarmless) {
  parsed_whole(
      std::string(kBareHead) +
      "repositories: [{git: \"https://h/x\", ref: \"\", subdirs: []}]\nexclude: []\nselect: "
      "{}\nbaseline:\nnotify: []\n"
      "change: {none: {}, go_directive: keep, tidy: true}\nstrategy: {waves: [], on_empty: skip}\n"
      "sandbox: {proxy: \"\", sumdb: \"on\", env: {}}\nvalidate: {tools: [], test: {rerun_failed: "
      "0}}\n");
}

TEST(CampaignFile, ASmallMemoryLimitKeepsTmpBelowIt) {
  const Campaign campaign = parsed_whole(
      std::string(kBareHead) +
      "repositories: [{module: example.com/a@v1.0.0}]\nsandbox: {limits: {memory: 512MiB}}\n");

  EXPECT_EQ(campaign.settings.limits.tmp_bytes, 256ULL << 20);
}

TEST(CampaignFile, ListFilesNameOneSourceALine) {
  const ListReader reader = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "lists/repos.txt");
    return std::string(
        "# all of them\nhttps://h/a.git\nhttps://h/b.git v2  # pinned\n\r\n./svc\n../up dev\n"
        "example.com/m@v1.2.3\ngit@h:team/c.git");
  };
  const Campaign campaign = parsed_whole(
      std::string(kBareHead) +
          "repositories:\n  - file: lists/repos.txt\n    ref: main\n    subdirs: [x]\n",
      reader);

  std::vector<std::string> names;
  for (const RepositoryEntry& entry : campaign.repositories) {
    names.push_back(entry_name(entry));
    EXPECT_THAT(entry.subdirs, ElementsAre("x"));
    EXPECT_EQ(entry.place.line, 5);
  }
  EXPECT_THAT(names, ElementsAre("https://h/a.git@main", "https://h/b.git@v2", "lists/svc@main",
                                 "up@dev", "example.com/m@v1.2.3", "git@h:team/c.git@main"));
}

}  // namespace
}  // namespace cupel::campaign
