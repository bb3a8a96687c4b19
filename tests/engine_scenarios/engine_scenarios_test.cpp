#include "tests/engine_scenarios/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cupel::scenarios {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr unsigned kSlower = 3;
#else
constexpr unsigned kSlower = 1;
#endif
#endif

/// A directory of files that a test writes.
class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void file(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }
  int run(std::vector<std::string> names = {}) {
    return run_directory({.directory = directory_.string(), .names = std::move(names)}, out, err);
  }

  std::ostringstream out;
  std::ostringstream err;

 private:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() /
      ("cupel-scenarios-" + std::to_string(::getpid()) + "-" +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

const char* const kHealthy = R"(
scenario: nothing goes wrong
drive:
  - run: {}
    expect: {outcome: passing, stdout: "ok\n"}
calls:
  - GET /images/*/json
  - POST /containers/create
  - POST /containers/*/attach
  - POST /containers/*/start
  - POST /containers/*/wait
  - GET /containers/*/json
  - DELETE /containers/*
end: {containers: 0}
)";

TEST_F(RunnerTest, AllThatTheBugLogKnowsHolds) {
  const int code = run_directory(
      {.directory = std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/engine-scenarios",
       .slower = kSlower},
      out, err);

  EXPECT_EQ(code, 0) << out.str() << err.str();
}

TEST_F(RunnerTest, AHealthyEngineGivesAPass) {
  file("healthy.yaml", kHealthy);

  EXPECT_EQ(run(), 0) << out.str() << err.str();
  EXPECT_THAT(out.str(), HasSubstr("ok       healthy"));
  EXPECT_THAT(out.str(), HasSubstr("1 scenarios: 1 as expected, 0 differ"));
}

TEST_F(RunnerTest, AnotherOutcomeIsADifferenceWithItsPlace) {
  std::string text = kHealthy;
  text.replace(text.find("passing"), 7, "failing");
  file("wrong.yaml", text);

  EXPECT_EQ(run(), kExitDiffers);
  EXPECT_THAT(out.str(), HasSubstr("DIFFERS  wrong"));
  EXPECT_THAT(out.str(),
              HasSubstr("wrong.yaml: 5:23: run: outcome is 'passing', expected 'failing'"));
}

TEST_F(RunnerTest, ACallTooManyACallTooFewAndAForbiddenCallAreDifferences) {
  std::string few = kHealthy;
  few.erase(few.find("  - DELETE"), std::string("  - DELETE /containers/*\n").size());
  file("few.yaml", few);
  file("many.yaml", std::string(kHealthy) + "never: [\"POST /containers/*/start\"]\n");
  std::string more = kHealthy;
  more.replace(more.find("  - DELETE"), 4, "  - POST /containers/*/kill\n  - ");
  file("more.yaml", more);

  EXPECT_EQ(run(), kExitDiffers);
  EXPECT_THAT(out.str(),
              HasSubstr("call 7 is DELETE /containers/c1?force=1&v=1, expected the end"));
  EXPECT_THAT(out.str(), HasSubstr("never: POST /containers/c1/start was called"));
  EXPECT_THAT(out.str(), HasSubstr("expected POST /containers/*/kill (line "));
}

TEST_F(RunnerTest, WhatNeverEndsIsADifferenceAndNotAHang) {
  file("stuck.yaml", R"(
scenario: the engine takes the call and says nothing
time_limit: 200ms
budgets: {ping: 30s}
rules:
  - on: GET /_ping
    do: [hang]
drive:
  - call: ping
    expect: {error: none}
calls: any
)");

  EXPECT_EQ(run(), kExitDiffers);
  EXPECT_THAT(out.str(), HasSubstr("the step of line 9 did not end within 0.200 s"));
}

TEST_F(RunnerTest, ABrokenFileNamesItsPlaceAndNothingIsPlayed) {
  file("good.yaml", kHealthy);
  file("bad.yaml", "scenario: x\ndrive:\n  - run: {limmit: 2s}\n    expect: {}\ncalls: any\n");

  EXPECT_EQ(run(), kExitBroken);
  EXPECT_THAT(err.str(), HasSubstr("bad.yaml:3:11: run: unknown key 'limmit'"));
  EXPECT_THAT(err.str(), HasSubstr("did you mean 'limit'?"));
  EXPECT_EQ(out.str(), "");
}

TEST_F(RunnerTest, NamesChooseAndAnUnknownOneIsAnError) {
  file("one.yaml", kHealthy);
  file("two.yaml", kHealthy);

  EXPECT_EQ(run({"two"}), 0);
  EXPECT_THAT(out.str(), Not(HasSubstr("one")));
  EXPECT_EQ(run({"three"}), kExitBroken);
}

TEST_F(RunnerTest, ADirectoryWithoutScenariosIsAnError) {
  EXPECT_EQ(run(), kExitBroken);
  EXPECT_EQ(run_directory({.directory = "/nonexistent"}, out, err), kExitBroken);
}

}  // namespace
}  // namespace cupel::scenarios
