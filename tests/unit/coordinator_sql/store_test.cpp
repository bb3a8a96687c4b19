#include "coordinator/sql/store.hpp"

#include "tests/unit/coordinator_sql/fixture.hpp"

#include <nlohmann/json.hpp>
#include <soci/session.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <fstream>
#include <latch>
#include <mutex>
#include <sys/stat.h>

namespace cupel::coordinator::sql {
namespace {

CUPEL_ON_BOTH_STORES(StoreTest);

TEST(StoreFile, IsReadableByItsOwnerOnly) {
  const ScratchDir dir;
  const auto file = dir.path() / "store.db";
  ASSERT_TRUE(prepare_store(file));
  struct stat info{};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(StoreFile, AForeignLockIsWaitedForAndNothingIsLost) {
  const ScratchDir dir;
  const auto file = dir.path() / "store.db";
  ASSERT_TRUE(prepare_store(file));
  auto writer = SqlWriter::open(file);
  auto reader = SqlReader::open(file);
  ASSERT_TRUE(writer && reader);
  soci::session other(soci::sqlite3, "db=" + file.string());
  other << "BEGIN IMMEDIATE";  // as a backup does

  auto done = std::async(std::launch::async, [&] { return commit(**writer, small_campaign()); });

  EXPECT_EQ(done.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  EXPECT_TRUE((*reader)->recover()->campaigns.empty()) << "reading goes on meanwhile";
  other << "ROLLBACK";
  ASSERT_TRUE(done.get());
  EXPECT_EQ((*reader)->recover()->campaigns.size(), 1U);
}

TEST_P(StoreTest, RecoversWhatACampaignIsMadeOf) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));

  const auto recovered = reader_->recover();

  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_TRUE(recovered->fleet);
  ASSERT_EQ(recovered->campaigns.size(), 1U);
  EXPECT_EQ(recovered->campaigns[0].owner, "alice");
  EXPECT_EQ(recovered->campaigns[0].priority, 7);
  EXPECT_EQ(recovered->campaigns[0].created.us, 900);
  ASSERT_EQ(recovered->repositories.size(), 1U);
  EXPECT_EQ(recovered->repositories[0].subdirs, (std::vector<std::string>{"a", "b \"c\""}));
  EXPECT_EQ(recovered->repositories[0].ordinal, 3U);
  ASSERT_EQ(recovered->units.size(), 1U);
  EXPECT_FALSE(recovered->units[0].verdict);
  ASSERT_EQ(recovered->tasks.size(), 1U);
  const TaskRow& task = recovered->tasks[0];
  EXPECT_EQ(task.kind, TaskKind::execute);
  EXPECT_EQ(task.state, TaskState::queued);
  EXPECT_EQ(task.preferred, kWorker);
  EXPECT_EQ(task.priority, -3);
  EXPECT_EQ(task.ready.us, 1'000);
}

TEST_P(StoreTest, ALeaseGivesTheSpecAndTheEventsTheirNumbers) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));

  const auto leased = commit(*writer_, {TaskLeased{kTask, kToken, kWorker, {2'000}},
                                        EventAppended{kCampaign, "task.started", "{}", {2'000}},
                                        EventAppended{{}, "worker.joined", "{}", {2'001}}});

  ASSERT_TRUE(leased) << leased.error().text();
  EXPECT_EQ(leased->specs.at(kTask), R"({"execute":{}})");
  ASSERT_EQ(leased->events.size(), 2U);
  EXPECT_EQ(leased->events[0].seq, 1U);
  EXPECT_EQ(leased->events[1].seq, 2U);
  const auto task = reader_->task(kTask);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task.state, TaskState::leased);
  EXPECT_EQ(task->task.worker, kWorker);
  ASSERT_EQ(task->attempts.size(), 1U);
  EXPECT_EQ(task->attempts[0].how, "running");
}

TEST_P(StoreTest, AResultWithTheLiveTokenIsRecordedOnce) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(*writer_, {TaskLeased{kTask, kToken, kWorker, {2'000}}}));

  ASSERT_TRUE(commit(
      *writer_,
      {TaskFinished{kTask, kToken, {3'000}, passing_result(kTask, kToken)},
       UnitFinished{kUnit, Verdict::passing, Reason::none, Fault::none, "fine", kTask, {3'000}}}));

  const auto task = reader_->task(kTask);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task.state, TaskState::done);
  EXPECT_EQ(nlohmann::json::parse(task->result)["message"], "all of it");
  ASSERT_EQ(task->attempts.size(), 1U);
  EXPECT_EQ(task->attempts[0].how, "passing");
  EXPECT_EQ(task->attempts[0].started.us, 2'000);
  EXPECT_EQ(task->attempts[0].ended.us, 3'000);
  const auto results = reader_->results(kCampaign, {}, 10, Verdict::passing);
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 1U);
  EXPECT_EQ((*results)[0].unit.message, "fine");
  EXPECT_EQ((*results)[0].repository.id, kRepository);
  EXPECT_FALSE((*results)[0].result.empty());
  const auto again =
      commit(*writer_, {TaskFinished{kTask, kToken, {4'000}, passing_result(kTask, kToken)}});
  EXPECT_FALSE(again);
}

TEST_P(StoreTest, AnAcceptedResultMayBeTheTasksLast) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(*writer_, {TaskLeased{kTask, kToken, kWorker, {2'000}}}));

  ASSERT_TRUE(commit(*writer_, {TaskFinished{kTask, kToken, {3'000}, passing_result(kTask, kToken)},
                                TaskStateChanged{kTask, TaskState::dead, {}, {3'000}}}));

  const auto task = reader_->task(kTask);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task.state, TaskState::dead);
  EXPECT_EQ(task->attempts.size(), 1U);
}

TEST_P(StoreTest, AUnitThatIsJudgedAsItIsMadeHasItsVerdict) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  UnitRow unit;
  unit.id = {99};
  unit.campaign = kCampaign;
  unit.repository = kRepository;
  unit.info = "{}";

  ASSERT_TRUE(commit(*writer_, {UnitCreated{unit}, UnitFinished{unit.id,
                                                                Verdict::refused,
                                                                Reason::no_go_mod,
                                                                Fault::repository,
                                                                "no",
                                                                kTask,
                                                                {3'000}}}));

  const auto results = reader_->results(kCampaign, {}, 10, Verdict::refused);
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 1U);
  EXPECT_EQ((*results)[0].unit.message, "no");
  EXPECT_EQ((*results)[0].unit.reason, Reason::no_go_mod);
  EXPECT_EQ((*results)[0].unit.finished.us, 3'000);
}

TEST_P(StoreTest, AFirstAcquisitionNeedsNoSpecOfItsOwn) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  TaskRow row = queued_task();
  row.id = {98};
  row.unit = {};
  row.kind = TaskKind::acquire;

  ASSERT_TRUE(commit(*writer_, {TaskCreated{row, ""}}));
  const auto leased = commit(*writer_, {TaskLeased{row.id, {77}, kWorker, {2'000}, false}});

  ASSERT_TRUE(leased) << leased.error().text();
  EXPECT_TRUE(leased->specs.empty());
  const auto spec = nlohmann::json::parse(reader_->task(row.id)->spec);
  EXPECT_EQ(spec["work"]["type"], "acquire_source");
  EXPECT_EQ(spec["work"]["subdirs"], nlohmann::json::array({"a", "b \"c\""}));
}

TEST_P(StoreTest, AResultWithAnOldTokenChangesNothing) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(*writer_, {TaskLeased{kTask, kToken, kWorker, {2'000}}}));
  ASSERT_TRUE(
      commit(*writer_,
             {TaskReturned{kTask, kToken, TaskState::queued, 0, 1, {}, {2'500}, "worker lost"}}));
  ASSERT_TRUE(commit(*writer_, {TaskLeased{kTask, {52}, kWorker, {3'000}}}));

  const auto late =
      commit(*writer_, {EventAppended{kCampaign, "task.finished", "{}", {4'000}},
                        TaskFinished{kTask, kToken, {4'000}, passing_result(kTask, kToken)}});

  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::store_failed);
  const auto task = reader_->task(kTask);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task.state, TaskState::leased);
  EXPECT_TRUE(task->result.empty());
  EXPECT_EQ(*reader_->last_event(), 0U);
}

TEST_P(StoreTest, ATokenNeverGoesBack) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(*writer_,
                     {TaskLeased{kTask, kToken, kWorker, {2'000}},
                      TaskReturned{kTask, kToken, TaskState::queued, 0, 1, {}, {2'500}, "drain"}}));

  EXPECT_FALSE(commit(*writer_, {TaskLeased{kTask, kToken, kWorker, {3'000}}}));
}

TEST_P(StoreTest, AfterAFailureEveryBatchFails) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_FALSE(commit(*writer_, small_campaign()));

  EXPECT_FALSE(commit(*writer_, {EventAppended{kCampaign, "a", "{}", {}}}));
  EXPECT_TRUE(writer_->failed());
}

TEST_P(StoreTest, AReturnedTaskKeepsItsHistoryAndCountsInterruptions) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));
  ASSERT_TRUE(commit(*writer_, {TaskLeased{kTask, kToken, kWorker, {2'000}}}));

  ASSERT_TRUE(
      commit(*writer_,
             {TaskReturned{kTask, kToken, TaskState::queued, 1, 2, {9'000}, {2'500}, "engine"}}));

  const auto task = reader_->task(kTask);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task.state, TaskState::queued);
  EXPECT_EQ(task->task.charged, 1U);
  EXPECT_EQ(task->task.interruptions, 2U);
  EXPECT_EQ(task->task.not_before.us, 9'000);
  EXPECT_EQ(task->task.token, kToken);
  EXPECT_FALSE(task->task.worker);
  ASSERT_EQ(task->attempts.size(), 1U);
  EXPECT_EQ(task->attempts[0].how, "engine");
  EXPECT_EQ(reader_->campaign(kCampaign)->interruptions, 2U);
}

TEST_P(StoreTest, EveryOtherTransitionIsSeenAgain) {
  ASSERT_TRUE(commit(*writer_, small_campaign()));

  const WorkerControls kept{.id = kWorker,
                            .draining = true,
                            .drain_by = {7},
                            .quarantine = Quarantine::automatic,
                            .round = 2,
                            .why = "engine",
                            .since = {8},
                            .probe_at = {9}};
  ASSERT_TRUE(commit(*writer_, {RepositoryPinned{kRepository, "c0ffee", "tree", kWorker},
                                WorkerSeen{kWorker, "build-7", "key", "host", "0.1", {5}},
                                WorkerSeen{kWorker, "build-7", "key", "host2", "0.2", {6}}, kept,
                                SequencesReserved{1'000, 0}, SequencesReserved{900, 2'000},
                                TaskStateChanged{kTask, TaskState::blocked, {9}, {7}},
                                CampaignChanged{kCampaign, CampaignState::paused, {8}}}));

  const auto recovered = reader_->recover();
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->repositories[0].commit, "c0ffee");
  EXPECT_EQ(recovered->repositories[0].tree, "tree");
  EXPECT_EQ(recovered->repositories[0].holder, kWorker);
  ASSERT_EQ(recovered->workers.size(), 1U);
  EXPECT_EQ(recovered->workers[0].host, "host2");
  ASSERT_EQ(recovered->controls.size(), 1U);
  EXPECT_TRUE(recovered->controls[0].draining);
  EXPECT_EQ(recovered->controls[0].id, kWorker);
  EXPECT_EQ(recovered->controls[0].drain_by.us, 7);
  EXPECT_EQ(recovered->controls[0].quarantine, Quarantine::automatic);
  EXPECT_EQ(recovered->controls[0].round, 2U);
  EXPECT_EQ(recovered->controls[0].why, "engine");
  EXPECT_EQ(recovered->controls[0].since.us, 8);
  EXPECT_EQ(recovered->controls[0].probe_at.us, 9);
  EXPECT_EQ(recovered->sequences.ids, 1'000U);
  EXPECT_EQ(recovered->sequences.tokens, 2'000U);
  EXPECT_EQ(recovered->tasks[0].state, TaskState::blocked);
  EXPECT_EQ(recovered->tasks[0].preferred, WorkerId{9});
  EXPECT_EQ(recovered->campaigns[0].state, CampaignState::paused);
  WorkerControls lifted;
  lifted.id = kWorker;
  ASSERT_TRUE(commit(*writer_, {RepositoryHolder{kRepository, {}}, lifted,
                                TaskStateChanged{kTask, TaskState::cancelled, {}, {9}},
                                CampaignChanged{kCampaign, CampaignState::cancelled, {10}}}));
  EXPECT_EQ((*reader_->repositories(kCampaign))[0].holder, WorkerId{});
  const auto later = reader_->recover();
  EXPECT_TRUE(later->campaigns.empty());
  EXPECT_TRUE(later->tasks.empty());
  EXPECT_TRUE(later->controls.empty());
  EXPECT_EQ(reader_->campaign(kCampaign)->campaign.finished.us, 10);
}

TEST_P(StoreTest, EventNumbersGoOnAfterARestart) {
  ASSERT_TRUE(commit(*writer_, {EventAppended{{1}, "a", "{}", {1}}}));
  writer_.reset();

  const auto next = commit(*open_writer(), {EventAppended{{1}, "b", "{}", {2}}});

  EXPECT_EQ(next->events[0].seq, 2U);
}

TEST_P(StoreTest, BatchesThatWaitAreCommittedTogether) {
  writer_.reset();
  std::mutex mutex;
  std::vector<std::size_t> groups;
  std::latch first_is_in(1);
  std::latch go_on(1);
  std::latch all_done(3);
  WriterOptions options;
  options.on_commit = [&](std::size_t batches, std::size_t, double, bool) {
    const std::lock_guard lock(mutex);
    groups.push_back(batches);
  };
  const auto writer = open_writer(options);
  // The first batch holds the writer's thread in its callback, so that the two others must wait for
  // it.
  writer->apply({EventAppended{{1}, "a", "{}", {}}}, [&](const Result<Applied>&) {
    first_is_in.count_down();
    go_on.wait();
    all_done.count_down();
  });
  first_is_in.wait();
  for (int i = 0; i < 2; ++i) {
    writer->apply({EventAppended{{1}, "b", "{}", {}}},
                  [&](const Result<Applied>&) { all_done.count_down(); });
  }
  go_on.count_down();
  all_done.wait();

  const std::lock_guard lock(mutex);
  EXPECT_EQ(groups, (std::vector<std::size_t>{1, 2}));
}

TEST_P(StoreTest, ClosingCommitsWhatWaits) {
  for (int i = 0; i < 100; ++i)
    writer_->apply({EventAppended{{1}, "a", "{}", {}}}, [](const Result<Applied>&) {});
  writer_.reset();

  EXPECT_EQ(*reader_->last_event(), 100U);
}

TEST(PrepareStore, SaysWhenTheFileIsNoStore) {
  const ScratchDir dir;
  std::ofstream(dir.path() / "store.db") << std::string(8192, 'x');

  const auto refused = prepare_store(dir.path() / "store.db");

  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("damaged"), std::string::npos) << refused.error().text();
}

TEST(PrepareStore, KeepsTheFleetsId) {
  const ScratchDir dir;
  const auto file = dir.path() / "store.db";
  ASSERT_TRUE(prepare_store(file));
  const FleetId fleet = (*SqlReader::open(file))->recover()->fleet;

  ASSERT_TRUE(prepare_store(file));

  EXPECT_EQ((*SqlReader::open(file))->recover()->fleet, fleet);
}

}  // namespace
}  // namespace cupel::coordinator::sql
