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
using ::testing::Not;

json repeated_unit() {
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

bool shell_reads(const std::string& script) {
  const std::string file =
      testing::TempDir() + "cupel-reproduce-" + std::to_string(getpid()) + ".sh";
  std::ofstream(file) << script;
  const bool read = std::system(("sh -n " + file).c_str()) == 0;
  unlink(file.c_str());
  return read;
}

TEST(Reproduction, TakesLimitsFromTheCampaignAndTheImageFromTheSide) {
  json one = repeated_unit();
  one["comparison"] = {{"before", {{"conditions", {{"image", "sha256:before"}}}}}};
  const json document = {
      {"sandbox",
       {{"limits", {{"cpus", 1.5}, {"memory", "1GiB"}, {"pids", 99}, {"tmp", "64MiB"}}}}}};

  const json plan = reproduction(one, document, {"before", nullptr, ""});

  EXPECT_EQ(plan["image"], "sha256:before");
  EXPECT_EQ(plan["limits"]["memory_bytes"], 1U << 30U);
  EXPECT_EQ(plan["environment"]["GOMAXPROCS"], "2");
  EXPECT_EQ(plan["environment"]["GOMEMLIMIT"], "768MiB");
  EXPECT_EQ(plan["network"], "none");
  EXPECT_EQ(reproduction(one, document, {"after", nullptr, ""})["image"], "sha256:plain");
}

TEST(ReproductionScript, IsAShellScriptWhateverTheWordsAre) {
  const std::string script =
      reproduction_script(reproduction(repeated_unit(), json(), {"after", nullptr, ""}));

  EXPECT_TRUE(shell_reads(script)) << script;
  EXPECT_THAT(script,
              HasSubstr("git clone -q --no-checkout 'https://example.com/a'\\''; rm -rf x' src\n"));
  EXPECT_THAT(script, HasSubstr("check gocache 'go' 'test' '-run' 'It'\\''s $HOME'"));
  EXPECT_THAT(script, HasSubstr("--network none --read-only --user 65534:65534"));
  EXPECT_THAT(script, HasSubstr("-w '/src/sub'"));
}

TEST(Reproduction, ShowsTheChecksOfTheSideThatIsAskedFor) {
  const json before = {{"checks", json::array({{{"check", "build"},
                                                {"command", {"go", "build", "./..."}},
                                                {"exit_code", 0},
                                                {"outcome", "passing"}}})}};

  const json plan = reproduction(repeated_unit(), json(), {"before", before, ""});

  ASSERT_EQ(plan["checks"].size(), 1U);
  EXPECT_EQ(plan["checks"][0]["outcome"], "passing");
}

TEST(Reproduction, KnowsVendoredUnitsAndThoseOfAWorkspace) {
  json vendored = repeated_unit();
  vendored["vendored"] = true;
  json member_of = repeated_unit();
  member_of["workspace"] = "go.work";

  EXPECT_EQ(reproduction(vendored, json(), {"before", nullptr, ""})["environment"]["GOFLAGS"],
            "-mod=vendor -buildvcs=false");
  const json environment = reproduction(member_of, json(), {"before", nullptr, ""})["environment"];
  EXPECT_EQ(environment["GOFLAGS"], "-buildvcs=false");
  EXPECT_EQ(environment["GOWORK"], "/src/go.work");
}

TEST(ReproductionScript, AppliesTheChangeToTheFilesOfAPublishedModule) {
  json one = repeated_unit();
  one["dir"] = ".";
  one["commit"] = "sum:h1:abc=";
  one["source"] = {{"type", "module"}, {"path", "example.com/M"}, {"version", "v1.2.3"}};
  one["comparison"] = {{"change", {{"patch", "d1"}, {"patch_bytes", 10}}}};

  const std::string script =
      reproduction_script(reproduction(one, json(), {"after", nullptr, "From 0\n\n$HOME `x`\n"}));

  EXPECT_TRUE(shell_reads(script)) << script;
  EXPECT_THAT(script, HasSubstr("go mod download 'example.com/M@v1.2.3'"));
  EXPECT_THAT(script, HasSubstr("am -q <<'END-d1'\nFrom 0\n\n$HOME `x`\nEND-d1\n"));
  EXPECT_THAT(script, HasSubstr("= 'h1:abc=' ] || {"));
}

TEST(ReproductionScript, TakesAnUploadedFolderFromWhereItIsNow) {
  json one = repeated_unit();
  one["source"] = {{"type", "bundle"}, {"name", "../a b"}};

  const std::string script =
      reproduction_script(reproduction(one, json(), {"before", nullptr, ""}));

  EXPECT_TRUE(shell_reads(script)) << script;
  EXPECT_THAT(script, HasSubstr("# uploaded from the folder '../a b': SOURCE names it\n"));
  EXPECT_THAT(script, HasSubstr("git -C \"$SOURCE\" cat-file -e 'abc^{commit}'"));
}

json replaced_unit() {
  json one = repeated_unit();
  one["comparison"]["change"] = {
      {"moved", {{{"module", "m.org/lib"}, {"to", "v1.0.0 => ./.cupel-candidate/0/lib"}}}},
      {"resolved", {{{"module", "m.org/lib"}, {"version", "c0ffee"}}}}};
  return one;
}

json replacing(json with) {
  return {{"change", {{"replace", {{{"module", "m.org/lib"}, {"with", std::move(with)}}}}}}};
}

TEST(ReproductionScript, PutsACandidateWhereMutatePutIt) {
  const json document = replacing({{"git", "https://example.com/lib"}, {"ref", "next"}});

  const std::string script =
      reproduction_script(reproduction(replaced_unit(), document, {"after", nullptr, ""}));

  EXPECT_TRUE(shell_reads(script)) << script;
  EXPECT_THAT(script, HasSubstr("'https://example.com/lib' 'src/sub/.cupel-candidate/0'\n"));
  EXPECT_THAT(script, HasSubstr("checkout -q --detach 'c0ffee'"));
  EXPECT_THAT(
      script,
      HasSubstr("go mod edit '-replace=m.org/lib=./.cupel-candidate/0/lib' /staging/go.mod"));
  EXPECT_THAT(script, HasSubstr("go mod tidy -modfile=/staging/go.mod\n"));
  EXPECT_THAT(script, HasSubstr("cp staging/go.mod \"$dir/\"\n"));
  EXPECT_THAT(reproduction_script(reproduction(replaced_unit(), document, {"before", nullptr, ""})),
              Not(HasSubstr("candidate")));
}

TEST(ReproductionScript, RunsNothingInPlaceOfAChangeThatItCantMake) {
  json vendored = replaced_unit();
  vendored["vendored"] = true;
  const json document = replacing({{"git", "https://example.com/lib"}});

  for (const json& plan : {reproduction(vendored, document, {"after", nullptr, ""}),
                           reproduction(replaced_unit(), json(), {"after", nullptr, ""})}) {
    const std::string script = reproduction_script(plan);
    EXPECT_TRUE(script.ends_with("exit 1\n")) << script;
    EXPECT_THAT(script, Not(HasSubstr("check gocache")));
  }
}

TEST(ReproductionScript, KnowsPrivateModulesAndOwnCachesOfOwnChecks) {
  json one = repeated_unit();
  one["checks"].push_back({{"check", "custom"}, {"name", "lint"}, {"command", {"lint"}}});
  const json document = {{"sandbox", {{"private", {{"goprivate", "m.org"}, {"gonosumdb", ""}}}}}};

  const std::string script =
      reproduction_script(reproduction(one, document, {"before", nullptr, ""}));

  EXPECT_THAT(script, HasSubstr("-e 'GOPRIVATE=m.org' -e GONOPROXY=none -e 'GONOSUMDB=m.org'"));
  EXPECT_THAT(script, HasSubstr("check gocache-1 'lint'"));
}

TEST(SideNotRun, IsSaidOfAUnitThatWasNotCompared) {
  json one = repeated_unit();
  EXPECT_EQ(side_not_run(one, "after"), "") << "a plain validation has one side";
  one["comparison"] = {{"before", json::object()}, {"after", nullptr}};

  EXPECT_EQ(side_not_run(one, "before"), "");
  EXPECT_EQ(side_not_run(one, "after"), "the after side of " + unit_name(one) + " was not run");
}

}  // namespace
}  // namespace cupel::cli
