#include "worker/core/go/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace cupel::worker {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

using Command = std::vector<std::string>;

TEST(PlanChecks, ListsThenBuildsThenVetsThenTests) {
  const auto plan = plan_checks({}, {});
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[0].check, CheckKind::list);
  EXPECT_THAT(plan[1].command, ElementsAre("go", "build", "-p=2", "-o", "/dev/null", "./..."));
  EXPECT_THAT(plan[2].command, ElementsAre("go", "vet", "-json", "-p=2", "./..."));
  EXPECT_THAT(plan[3].command,
              ElementsAre("go", "test", "-json", "-p=2", "-count=1", "-timeout=600s", "./..."));
  for (const PlannedCheck& check : plan) EXPECT_THAT(check.command, Not(Contains("-v")));
}

TEST(PlanChecks, NestsTheLimits) {
  ValidationSettings settings;
  settings.test.timeout_s = 20;
  EXPECT_EQ(plan_checks({}, settings).back().limit, seconds(95));
  settings.test.timeout_s = 0;
  EXPECT_EQ(plan_checks({}, settings).back().limit, seconds(900));
  settings.check_limit_s = 12;
  EXPECT_EQ(plan_checks({}, settings).back().limit, seconds(12));
  EXPECT_EQ(plan_checks({}, settings)[1].limit, seconds(12));
}

TEST(PlanChecks, GivesTheListRoomForALargeModule) {
  const auto plan = plan_checks({}, {});
  EXPECT_EQ(plan[0].limits.output_bytes, 64ULL << 20);
  EXPECT_EQ(plan[3].limits.output_bytes, 8ULL << 20);  // with room for the JSON around 4 MiB
}

TEST(PlanChecks, PassesTheTestSettingsOn) {
  ValidationSettings settings;
  settings.test.count = 3;
  settings.test.race = true;
  settings.test.short_mode = true;
  settings.test.shuffle = "7";
  settings.test.run = "^TestA$";
  settings.test.skip = "Slow";
  settings.tags = {"a", "b"};
  settings.packages = {"./x", "./y/..."};
  settings.limits.cpu_millis = 2500;
  const Command command = plan_checks({}, settings).back().command;
  EXPECT_THAT(command, ElementsAre("go", "test", "-json", "-p=3", "-count=3", "-timeout=600s",
                                   "-race", "-short", "-shuffle=7", "-run=^TestA$", "-skip=Slow",
                                   "-tags=a,b", "./x", "./y/..."));
}

TEST(PlanChecks, RunsInTheDirectoryOfTheUnit) {
  UnitInfo unit;
  unit.dir = "tools/gen";
  for (const PlannedCheck& check : plan_checks(unit, {})) EXPECT_EQ(check.workdir, "tools/gen");
}

TEST(PlanChecks, CustomChecksComeLastWithACacheOfTheirOwn) {
  ValidationSettings settings;
  settings.custom = {{.name = "lint", .command = {"go", "run", "./lint"}, .limit_s = 60}};
  const auto plan = plan_checks({}, settings);
  ASSERT_EQ(plan.size(), 5U);
  EXPECT_EQ(plan[4].name, "lint");
  EXPECT_TRUE(plan[4].fresh_gocache);
  EXPECT_EQ(plan[4].limit, seconds(60));
  EXPECT_THAT(plan[4].command, ElementsAre("go", "run", "./lint"));
}

TEST(PlanChecks, LeavesOutWhatTheCampaignTurnsOff) {
  ValidationSettings settings;
  settings.build = settings.vet = settings.test.enabled = false;
  EXPECT_EQ(plan_checks({}, settings).size(), 1U);
}

}  // namespace
}  // namespace cupel::worker
