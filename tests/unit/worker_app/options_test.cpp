#include "worker/app/options.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cupel::worker {
namespace {

config::Loaded load_with(const std::vector<std::string>& more, const std::string& file = "") {
  config::Inputs inputs;
  inputs.arguments = {"--data-dir=/d", "--coordinator-control=tcp://c.example.com:1",
                      "--coordinator-bulk=tcp://c.example.com:2", "--coordinator-key=k",
                      "--key-file=/k"};
  inputs.arguments.insert(inputs.arguments.end(), more.begin(), more.end());
  inputs.read_file = [file](const std::string&) { return file; };
  inputs.expand = [file](const std::string&) {
    return file.empty() ? std::vector<std::string>() : std::vector<std::string>{"worker.yaml"};
  };
  return config::load(settings_schema(), inputs);
}

Result<Options> options_with(const std::vector<std::string>& more) {
  return options_from(load_with(more).settings);
}

TEST(OptionsFrom, ReadsTheRuntimeOfEachProfile) {
  EXPECT_TRUE(options_with({})->runtimes.empty());

  const auto options = options_with({"--runtimes=execute=runsc,tool=kata"});

  ASSERT_TRUE(options) << options.error().text();
  EXPECT_EQ(options->runtimes,
            (std::map<Profile, std::string>{{Profile::execute, "runsc"}, {Profile::tool, "kata"}}));
}

TEST(OptionsFrom, RefusesRuntimesThatSayNothingOrTooMuch) {
  for (const char* const bad : {"--runtimes=runsc", "--runtimes=execute=", "--runtimes=exec=runsc",
                                "--runtimes=execute=runsc,execute=kata"}) {
    const auto options = options_with({bad});
    ASSERT_FALSE(options) << bad;
    EXPECT_EQ(options.error().code, Errc::bad_config) << bad;
    EXPECT_THAT(options.error().what, ::testing::HasSubstr("runtimes")) << bad;
  }
}

TEST(OptionsFrom, EveryEngineCallHasItsBudget) {
  const docker::EngineBudgets fallbacks;
  const auto by_default = options_with({});
  ASSERT_TRUE(by_default) << by_default.error().text();

  for (const docker::NamedBudget& budget : docker::kNamedBudgets) {
    EXPECT_EQ(by_default->engine_budgets.*budget.time, fallbacks.*budget.time) << budget.name;
    std::string flag = "--" + engine_budget_setting(budget) + "=17s";
    std::ranges::replace(flag, '_', '-');
    const auto options = options_with({flag, "--post-run=1h"});
    ASSERT_TRUE(options) << options.error().text();
    EXPECT_EQ(options->engine_budgets.*budget.time, std::chrono::seconds(17)) << budget.name;
  }
}

TEST(OptionsFrom, WhatDoesNotFitTogetherIsAFaultOfTheConfigurationAtItsPlace) {
  for (const auto& arguments : {std::vector<std::string>{}, {"config", "check"}}) {
    const auto loaded = load_with(arguments, "runtimes: [execute=]\n");

    EXPECT_EQ(loaded.exit_code, 2);
    EXPECT_THAT(loaded.err, ::testing::HasSubstr("worker.yaml:1:11: setting runtimes: 'execute='"));
  }
}

TEST(OptionsFrom, RefusesACoordinatorThatIsNamedTwice) {
  const auto options = options_with(
      {"--coordinator-control=tcp://c.example.com:1,tcp://d.example.com:1,tcp://c.example.com:1",
       "--coordinator-bulk=tcp://c.example.com:2,tcp://d.example.com:2,tcp://c.example.com:2"});

  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Errc::bad_config);
  EXPECT_THAT(options.error().what, ::testing::HasSubstr("tcp://c.example.com:1 twice"));
}

TEST(OptionsFrom, ReadsWhereRunsFindTheProxy) {
  EXPECT_EQ(options_with({})->egress_proxy, "auto");
  EXPECT_EQ(options_with({"--egress-proxy=container"})->egress_proxy, "container");
  EXPECT_EQ(options_with({"--egress-proxy=worker", "--egress=enforced"})->egress_proxy, "worker");
}

TEST(OptionsFrom, RefusesAPlaceForAProxyThatNoRunHas) {
  for (const char* const other : {"--engine=bubblewrap", "--egress=configured"}) {
    EXPECT_TRUE(options_with({other})) << other;
    const auto options = options_with({"--egress-proxy=container", other});
    ASSERT_FALSE(options) << other;
    EXPECT_EQ(options.error().code, Errc::bad_config);
    EXPECT_THAT(options.error().what, ::testing::HasSubstr("egress_proxy")) << other;
  }
}

TEST(OptionsFrom, RefusesRuntimesWhereThereIsNoEngineToHaveThem) {
  const auto options = options_with({"--engine=bubblewrap", "--runtimes=execute=runsc"});

  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, Errc::bad_config);
}

}  // namespace
}  // namespace cupel::worker
