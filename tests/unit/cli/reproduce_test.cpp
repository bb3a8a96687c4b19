#include "cli/core/reproduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

namespace cupel::cli {
namespace {

using ::testing::HasSubstr;

json unit() {
  return {{"repository", "https://example.com/a"},
          {"dir", "sub"},
          {"commit", "abc"},
          {"source", {{"type", "git"}, {"url", "https://example.com/a'; rm -rf x"}}},
          {"evidence", {{"image", "sha256:plain"}, {"go_version", "go1.26.1"}}},
          {"checks", json::array({{{"check", "test"},
                                   {"command", {"go", "test", "-run", "It's $HOME"}},
                                   {"exit_code", 1},
                                   {"outcome", "failing"}}})}};
}

TEST(Reproduction, TakesLimitsFromTheCampaignAndTheImageFromTheSide) {
  json one = unit();
  one["comparison"] = {{"before", {{"conditions", {{"image", "sha256:before"}}}}}};
  const json document = {
      {"sandbox",
       {{"limits", {{"cpus", 1.5}, {"memory", "1GiB"}, {"pids", 99}, {"tmp", "64MiB"}}}}}};

  const json plan = reproduction(one, document, "before");

  EXPECT_EQ(plan["image"], "sha256:before");
  EXPECT_EQ(plan["limits"]["memory_bytes"], 1U << 30U);
  EXPECT_EQ(plan["environment"]["GOMAXPROCS"], "2");
  EXPECT_EQ(plan["environment"]["GOMEMLIMIT"], "768MiB");
  EXPECT_EQ(plan["network"], "none");
  EXPECT_EQ(reproduction(one, document, "after")["image"], "sha256:plain");
}

TEST(ReproductionScript, IsAShellScriptWhateverTheWordsAre) {
  const std::string script = reproduction_script(reproduction(unit(), json(), "after"));
  const std::string file =
      testing::TempDir() + "cupel-reproduce-" + std::to_string(getpid()) + ".sh";
  std::ofstream(file) << script;

  EXPECT_EQ(std::system(("sh -n " + file).c_str()), 0) << script;

  unlink(file.c_str());
  EXPECT_THAT(script, HasSubstr("git clone 'https://example.com/a'\\''; rm -rf x' src\n"));
  EXPECT_THAT(script, HasSubstr("check 'go' 'test' '-run' 'It'\\''s $HOME'"));
  EXPECT_THAT(script, HasSubstr("--network none --read-only --user 65534:65534"));
  EXPECT_THAT(script, HasSubstr("-w '/src/sub'"));
}

}  // namespace
}  // namespace cupel::cli
