// What a machine makes of the store that it begins with.
#include "tests/unit/coordinator_core/machine_control_fixture.hpp"

namespace cupel::coordinator {
namespace {

class MachineRestartTest : public MachineControlTest {
 protected:
  MachineRestartTest() {
    CampaignRow row;
    row.id = kCampaign;
    row.owner = "ann";
    row.created = now_.wall;
    recovered_.campaigns.push_back(row);
    RepositoryRow repository;
    repository.id = RepositoryId{8};
    repository.campaign = row.id;
    repository.source = R"({"type":"git","url":"https://example.com/a","ref":"main"})";
    recovered_.repositories.push_back(repository);
    recovered_.sequences = {100, 100};
  }

  void restart() {
    campaign::Campaign asked;
    asked.repositories.push_back(git("a"));
    for (const TaskRow& row : recovered_.tasks) specs_[row.id] = "{}";
    machine_ = Machine(settings(), recovered_, {{kCampaign, asked}}, now_);
    step(TrustChanged{{{"k1", "one", {}}}});
    join("k1", 11);
  }

  static constexpr CampaignId kCampaign{7};
  Recovered recovered_ = empty_store();
};

TEST_F(MachineRestartTest, APausedCampaignIsPausedStill) {
  recovered_.campaigns[0].state = CampaignState::paused;

  restart();

  EXPECT_EQ(count<Lease>("k1"), 0U);
  EXPECT_EQ(machine_.gauges().campaigns_paused, 1U);
  step(ResumeCampaign{1, kCampaign});
  EXPECT_EQ(count<Lease>("k1"), 1U);
}

// The clock of whoever wrote the time was most of an hour ahead.
TEST_F(MachineRestartTest, ATaskWaitsNoLongerThanItsBackOffWhateverTheClockWas) {
  TaskRow task;
  task.id = TaskId{9};
  task.campaign = kCampaign;
  task.repository = recovered_.repositories[0].id;
  task.interruptions = 1;
  task.ready = task.not_before = {now_.wall.us + 50 * 60 * 1'000'000LL};
  recovered_.tasks.push_back(task);

  restart();

  EXPECT_EQ(count<Lease>("k1"), 0U) << "its back-off isn't over";
  EXPECT_LE(machine_.gauges().oldest_ready_us, now_.wall.us + 2'000'000);
  wait(settings().backoff_first + 1s);
  EXPECT_EQ(count<Lease>("k1"), 1U) << machine_.why(task.id).value_or("");
}

TEST_F(MachineRestartTest, ALeaseThatNamesNoWorkerIsGivenOutAnew) {
  TaskRow task;
  task.id = TaskId{9};
  task.campaign = kCampaign;
  task.repository = recovered_.repositories[0].id;
  task.state = TaskState::leased;
  task.token = Token{40};
  recovered_.tasks.push_back(task);

  restart();

  ASSERT_EQ(written<TaskReturned>().size(), 1U);
  EXPECT_EQ(written<TaskReturned>()[0].token, task.token);
  ASSERT_EQ(count<Lease>("k1"), 1U);
  EXPECT_GT(last<Lease>("k1").token, task.token);
}

TEST_F(MachineRestartTest, AProbeWaitsNoLongerThanItsPauseWhateverTheClockWas) {
  recovered_.workers.push_back(
      {.id = WorkerId{11}, .name = "one", .key = "k1", .host = {}, .version = {}, .at = {}});
  WorkerControls controls;
  controls.id = WorkerId{11};
  controls.quarantine = Quarantine::automatic;
  controls.round = 1;
  controls.probe_at = {now_.wall.us + 50 * 60 * 1'000'000LL};
  recovered_.controls.push_back(controls);

  restart();

  EXPECT_EQ(count<Lease>("k1"), 0U);
  wait(settings().quarantine + 1s);
  ASSERT_EQ(count<Lease>("k1"), 1U);
  EXPECT_TRUE(is_probe(last<Lease>("k1")));
}

}  // namespace
}  // namespace cupel::coordinator
