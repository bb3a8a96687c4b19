#include "cli/core/progress.hpp"

#include "common/text/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

json event(const std::string& type, json body = json::object()) {
  body["type"] = type;
  return body;
}

TEST(Progress, PrintsALineForEachFinishedUnitOnly) {
  Progress progress;
  progress.start("c-1 first", 2);

  EXPECT_FALSE(progress.take(event("task.started", {{"task", "t-1"}})));
  const auto line = progress.take(event("unit.finished", {{"repository", "https://h/a"},
                                                          {"dir", "."},
                                                          {"verdict", "failing"},
                                                          {"reason", "none"},
                                                          {"seconds", 160.2},
                                                          {"message", "build: undefined: x"}}));
  EXPECT_EQ(line,
            "https://h/a                               failing       2m40s    build: undefined: x");
  EXPECT_FALSE(progress.finished());
  EXPECT_FALSE(progress.take(event("campaign.finished")));
  EXPECT_TRUE(progress.finished());
}

TEST(Progress, TheBlockCountsWhatIsKnown) {
  Progress progress;
  progress.start("c-1 first", 2);
  progress.take(event("repository.acquired", {{"units", 3}}));
  progress.take(event("task.started", {{"task", "t-1"}}));
  progress.take(event("task.started", {{"task", "t-2"}}));
  progress.take(event("task.finished", {{"task", "t-1"}}));
  progress.take(event("task.retried", {{"task", "t-2"}}));
  progress.take(
      event("unit.finished", {{"repository", "a"}, {"verdict", "passing"}, {"reason", "none"}}));

  EXPECT_THAT(
      progress.block(200, 61),
      ::testing::ElementsAre("c-1 first",
                             "████████░░░░░░░░░░░░░░░░  1/3+ units · 0 tasks running · 1/2 "
                             "repositories fetched · 1m01s",
                             "1 finished = passing 1   (1 attempts repeated)", "last: a passing"));
  EXPECT_EQ(progress.state_line(61),
            "1/3+ units · 0 tasks running · 1/2 repositories fetched · 1m01s");
  for (const std::string& line : progress.block(20, 61)) EXPECT_LE(text::width(line), 20U);
}

TEST(Progress, AReopenedCampaignCountsAUnitOnce) {
  Progress progress;
  progress.start("c-1 first", 1);
  const auto finished = [](const char* unit, const char* verdict) {
    return event("unit.finished", {{"unit", unit}, {"repository", "a"}, {"verdict", verdict}});
  };
  progress.take(finished("u-1", "inconclusive"));
  progress.take(finished("u-2", "passing"));
  progress.take(event("campaign.finished"));
  progress.take(event("campaign.reopened"));

  EXPECT_FALSE(progress.finished());
  progress.take(finished("u-1", "passing"));
  EXPECT_EQ(progress.units_finished(), 2U);
  EXPECT_THAT(progress.block(200, 1), ::testing::Contains("2 finished = passing 2"));
}

TEST(Progress, SaysWhyNothingRunsUntilSomethingDoes) {
  Progress progress;
  progress.start("c-1 first", 1);
  EXPECT_TRUE(progress.idle());

  progress.note("nothing runs: no worker is connected");

  EXPECT_THAT(progress.block(200, 1), ::testing::Contains("nothing runs: no worker is connected"));
  progress.take(event("task.started", {{"task", "t-1"}}));
  EXPECT_FALSE(progress.idle());
  EXPECT_THAT(progress.block(200, 1), ::testing::Each(testing::Not(testing::HasSubstr("nothing"))));
}

TEST(Progress, OddEventsChangeNothing) {
  Progress progress;
  EXPECT_FALSE(progress.take(json::array()));
  EXPECT_FALSE(progress.take(event("something.new", {{"units", "many"}})));
  EXPECT_TRUE(progress.take(event("unit.finished", {{"verdict", 7}})));
}

TEST(Progress, TheBarIsFullOnlyAtTheEnd) {
  EXPECT_EQ(bar(0, 0, 3), "░░░");
  EXPECT_EQ(bar(9, 10, 3), "██░");
  EXPECT_EQ(bar(10, 10, 3), "███");
  EXPECT_EQ(bar(11, 10, 3), "███");
}

}  // namespace
}  // namespace cupel::cli
