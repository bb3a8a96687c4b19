#include "tests/unit/coordinator_core/machine_fixture.hpp"

namespace cupel::coordinator {
namespace {

TEST_F(MachineTest, WalksAUnitFromSourceToVerdict) {
  join("k1", 11);
  const CampaignId id = submit();

  from("k1", ResultMessage{acquired(last<Lease>("k1"))});
  EXPECT_TRUE(std::holds_alternative<AcquireModules>(last<Lease>("k1").spec.work));
  from("k1", ResultMessage{passing(last<Lease>("k1"))});
  const Lease execute = last<Lease>("k1");
  EXPECT_EQ(std::get<Execute>(execute.spec.work).commit, "abc");
  TaskResult failing = passing(execute);
  failing.outcome = Outcome::failing;
  from("k1", ResultMessage{failing});

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(written<UnitFinished>()[0].verdict, Verdict::failing);
  EXPECT_EQ(written<UnitFinished>()[0].deciding_task, execute.spec.id);
  ASSERT_EQ(written<CampaignChanged>().size(), 1U);
  EXPECT_EQ(written<CampaignChanged>()[0].id, id);
  EXPECT_EQ(written<CampaignChanged>()[0].state, CampaignState::finished);
  EXPECT_EQ(written<EventAppended>().back().type, "campaign.finished");
  EXPECT_TRUE(machine_.quiet());
}

TEST_F(MachineTest, AsksARepositoryItsOwnUpgradeAndTheOthersTheCampaigns) {
  join("k1", 1, 8);
  SubmitCampaign event;
  event.request = ++requests_;
  event.campaign.name = "c";
  event.campaign.repositories = {git("a"), git("b")};
  event.campaign.repositories[1].upgrade = {{"m.org/own", "v1.1.0"}};
  Upgrade all;
  all.modules = {{"m.org/all", "v1.0.1"}};
  event.campaign.change = all;
  event.document = "{}";
  event.owner = "ann";
  step(std::move(event));

  std::map<std::string, std::string> upgraded;
  std::map<RepositoryId, std::string> names;
  for (std::size_t next = 0; upgraded.size() < 2 && next < sent_.size(); ++next) {
    const auto* found = std::get_if<Lease>(&sent_[next].message);
    if (found == nullptr) continue;
    const Lease lease = *found;
    TaskResult result = passing(lease);
    if (const auto* source = std::get_if<AcquireSource>(&lease.spec.work)) {
      names[lease.spec.repository] = std::get<GitSource>(source->source).url;
      result = acquired(lease);
    } else if (std::holds_alternative<AcquireModules>(lease.spec.work)) {
      result.modules = ModuleFacts{};
    } else if (const auto* mutate = std::get_if<Mutate>(&lease.spec.work)) {
      upgraded[names[lease.spec.repository]] =
          std::get<Upgrade>(mutate->change).modules.front().module;
      continue;
    }
    from("k1", ResultMessage{result});
  }

  EXPECT_EQ(upgraded, (std::map<std::string, std::string>{{"https://example.com/a", "m.org/all"},
                                                          {"https://example.com/b", "m.org/own"}}));
}

TEST_F(MachineTest, FinishesARefusedSourceWithoutATask) {
  campaign::RepositoryEntry entry;
  entry.source =
      campaign::RefusedSource{"./x", Reason::hostile_git_config, "core.fsmonitor is set"};

  submit({entry});

  EXPECT_TRUE(created_.empty());
  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(written<UnitFinished>()[0].reason, Reason::hostile_git_config);
  EXPECT_EQ(written<CampaignChanged>().back().state, CampaignState::finished);
}

TEST_F(MachineTest, RefusesALocalPathAndAnEmptyCampaign) {
  campaign::RepositoryEntry entry;
  entry.source = campaign::LocalPath{"./x", ""};

  submit({entry});
  EXPECT_EQ(replies_.back().answer.error().code, Errc::bad_value);
  submit({});
  EXPECT_EQ(replies_.back().answer.error().code, Errc::no_repositories);
}

TEST_F(MachineTest, AnswersARepeatedSubmissionWithTheSameCampaign) {
  SubmitCampaign event;
  event.request = 1;
  event.campaign.repositories = {git("a")};
  event.document = "{1}";
  event.owner = "ann";
  event.idempotency_key = "once";
  step(event);
  const CampaignId first = replies_.back().answer->campaign;

  step(event);
  EXPECT_EQ(replies_.back().answer->campaign, first);
  EXPECT_TRUE(replies_.back().answer->repeated);
  event.document = "{2}";
  step(event);
  EXPECT_EQ(replies_.back().answer.error().code, Errc::conflict);
  EXPECT_EQ(written<CampaignCreated>().size(), 1U);
}

TEST_F(MachineTest, AKeyIsKnownThoughItsCampaignWasOverAtOnce) {
  SubmitCampaign event;
  event.request = 1;
  event.campaign.repositories.emplace_back().source =
      campaign::RefusedSource{"./bad", Reason::hostile_git_config, "no"};
  event.document = "{1}";
  event.owner = "ann";
  event.idempotency_key = "once";
  step(event);
  const CampaignId first = replies_.back().answer->campaign;
  ASSERT_EQ(written<CampaignChanged>().back().state, CampaignState::finished);

  step(event);
  EXPECT_EQ(replies_.back().answer->campaign, first);
  EXPECT_TRUE(replies_.back().answer->repeated);
  event.document = "{2}";
  step(event);
  EXPECT_EQ(replies_.back().answer.error().code, Errc::conflict);
  EXPECT_EQ(written<CampaignCreated>().size(), 1U);
}

TEST_F(MachineTest, WritesALargeCampaignInStepsAndConfirmsTheWhole) {
  std::vector<campaign::RepositoryEntry> many;
  for (int i = 0; i < 1200; ++i) many.push_back(git(std::to_string(i)));
  SubmitCampaign event;
  event.request = 1;
  event.campaign.repositories = many;
  event.document = "{}";

  step_uncommitted(std::move(event));
  EXPECT_EQ(open_.size(), 1U);
  EXPECT_LT(open_.front().transitions.size(), 1200U);
  commit();

  EXPECT_EQ(written<RepositoryCreated>().size(), 1200U);
  ASSERT_EQ(replies_.size(), 1U);
}

TEST_F(MachineTest, BuriesATaskWhoseInterruptionsAreSpent) {
  join("k1", 11);
  submit({git("a")}, 1);
  for (int i = 0; i < 2; ++i) {
    TaskResult interrupted = passing(last<Lease>("k1"));
    interrupted.ending = Ending::interrupted;
    interrupted.outcome = Outcome::inconclusive;
    interrupted.reason = Reason::engine;
    from("k1", ResultMessage{interrupted});
    pass(3s);
    heartbeat("k1");
  }

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(written<UnitFinished>()[0].verdict, Verdict::inconclusive);
  EXPECT_EQ(written<UnitFinished>()[0].reason, Reason::engine);
  EXPECT_EQ(written<UnitFinished>()[0].fault, Fault::fleet);
  EXPECT_EQ(written<TaskStateChanged>().back().state, TaskState::dead);
  EXPECT_EQ(machine_.counters().dead_letters, 1U);
}

TEST_F(MachineTest, AcquiresElsewhereWithTheSamePinWhenTheWorkspaceIsLost) {
  join("k1", 11);
  submit();
  from("k1", ResultMessage{acquired(last<Lease>("k1"))});
  const Lease modules = last<Lease>("k1");
  TaskResult lost = passing(modules);
  lost.ending = Ending::lost_workspace;

  from("k1", ResultMessage{lost});

  const Lease again = last<Lease>("k1");
  EXPECT_EQ(std::get<AcquireSource>(again.spec.work).pinned_commit, "abc");
  EXPECT_EQ(written<TaskReturned>().back().state, TaskState::blocked);
  from("k1", ResultMessage{acquired(again)});
  pass(5s);
  heartbeat("k1");
  EXPECT_EQ(last<Lease>("k1").spec.id, modules.spec.id);
  EXPECT_EQ(written<UnitCreated>().size(), 1U);
}

TEST_F(MachineTest, MovesARepositoryWhenItsHolderStaysAway) {
  join("k1", 11);
  submit();
  from("k1", ResultMessage{acquired(last<Lease>("k1"))});
  from("k1", ResultMessage{passing(last<Lease>("k1"))});  // modules are done; execute is leased
  const Lease execute = last<Lease>("k1");
  join("k2", 12);
  for (int i = 0; i < 160; ++i) {
    pass(1s);
    step(Tick{});
    heartbeat("k2");
  }
  const Lease again = last<Lease>("k2");
  ASSERT_TRUE(std::holds_alternative<AcquireSource>(again.spec.work));
  from("k2", ResultMessage{acquired(again)});
  const Lease modules = last<Lease>("k2");
  EXPECT_TRUE(std::holds_alternative<AcquireModules>(modules.spec.work));

  from("k2", ResultMessage{passing(modules)});

  EXPECT_EQ(last<Lease>("k2").spec.id, execute.spec.id);
  EXPECT_GT(last<Lease>("k2").token, execute.token);
}

TEST_F(MachineTest, CancelsEverythingThatIsOpen) {
  join("k1", 11);
  const CampaignId id = submit({git("a"), git("b")});
  from("k1", ResultMessage{acquired(last<Lease>("k1"), {".", "sub"})});
  const LiveLease running = live(last<Lease>("k1"));

  step(CancelCampaign{77, id});

  EXPECT_EQ(last<CancelTask>("k1").lease, running);
  EXPECT_EQ(written<UnitFinished>().size(), 3U);
  for (const UnitFinished& unit : written<UnitFinished>()) {
    EXPECT_EQ(unit.verdict, Verdict::cancelled);
  }
  EXPECT_EQ(written<CampaignChanged>().back().state, CampaignState::cancelled);
  EXPECT_EQ(replies_.back().request, 77U);
  EXPECT_TRUE(machine_.quiet());
}

TEST_F(MachineTest, KeepsTheSlotOfACancelledAttemptUntilItHasStopped) {
  join("k1", 11);
  const CampaignId first = submit();
  const LiveLease running = live(last<Lease>("k1"));
  heartbeat("k1", {running});
  step(CancelCampaign{1, first});

  submit({git("b")});
  EXPECT_EQ(count<Lease>("k1"), 1U);
  heartbeat("k1", {running});
  EXPECT_EQ(count<Lease>("k1"), 1U);
  heartbeat("k1");

  EXPECT_EQ(count<Lease>("k1"), 2U);
}

TEST_F(MachineTest, CancelsWhatIsOpenWhenTheDeadlinePasses) {
  SubmitCampaign event;
  event.request = 1;
  event.campaign.repositories = {git("a")};
  event.campaign.deadline_s = 10;
  event.document = "{}";
  step(std::move(event));

  pass(11s);
  step(Tick{});

  ASSERT_EQ(written<UnitFinished>().size(), 1U);
  EXPECT_EQ(written<UnitFinished>()[0].message, "the campaign's deadline passed");
}

TEST_F(MachineTest, StartsNothingOfAPausedCampaign) {
  const CampaignId id = submit();
  step(PauseCampaign{1, id});
  join("k1", 11);
  EXPECT_EQ(count<Lease>("k1"), 0U);

  step(ResumeCampaign{2, id});

  EXPECT_EQ(count<Lease>("k1"), 1U);
}

TEST_F(MachineTest, SaysWhyATaskDoesNotRun) {
  const CampaignId id = submit();
  const TaskId task = created_.back().id;

  EXPECT_EQ(machine_.why(task), "no worker is connected");
  join("k1", 11, 0);
  EXPECT_NE(machine_.why(task)->find("no free slot"), std::string::npos);
  step(PauseCampaign{1, id});
  EXPECT_EQ(machine_.why(task), "its campaign is paused");
  EXPECT_EQ(machine_.why(TaskId{424242}), std::nullopt);
}

TEST_F(MachineTest, ShowsWorkersByStateAndName) {
  join("k1", 11);
  submit();
  order(WorkerOrder::drain, 12);
  EXPECT_EQ(replies_.back().answer.error().code, Errc::not_found);

  const auto views = machine_.workers();

  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].name, "one");
  EXPECT_EQ(views[0].state, WorkerState::busy);
  EXPECT_EQ(machine_.gauges().workers_busy, 1U);
  EXPECT_EQ(machine_.gauges().running[0], 1U);
}

}  // namespace
}  // namespace cupel::coordinator
