#include "tests/unit/coordinator_sql/fixture.hpp"

#include "tests/support/postgres.hpp"

namespace cupel::coordinator::sql {

Result<Applied> commit(StoreWriter& writer, std::vector<Transition> batch) {
  std::promise<Result<Applied>> promise;
  auto answer = promise.get_future();
  writer.apply(std::move(batch),
               [&](Result<Applied> result) { promise.set_value(std::move(result)); });
  return answer.get();
}

std::string name_of(const testing::TestParamInfo<Dialect>& dialect) {
  return dialect.param == Dialect::sqlite ? "Sqlite" : "Postgres";
}

StoreLocation BothStores::make_store() const {
  if (GetParam() == Dialect::sqlite) return file_;
  return *parse_store_location(tests::Postgres::shared().fresh_database(), file_);
}

void StoreTest::SetUp() {
  const auto prepared = prepare_store(store_);
  ASSERT_TRUE(prepared) << prepared.error().text();
  writer_ = open_writer();
  auto reader = SqlReader::open(store_);
  ASSERT_TRUE(reader) << reader.error().text();
  reader_ = std::move(*reader);
}

std::unique_ptr<SqlWriter> StoreTest::open_writer(WriterOptions options) {
  auto writer = SqlWriter::open(store_, std::move(options));
  EXPECT_TRUE(writer);
  return writer ? std::move(*writer) : nullptr;
}

TaskRow queued_task() {
  TaskRow task;
  task.id = kTask;
  task.campaign = kCampaign;
  task.repository = kRepository;
  task.unit = kUnit;
  task.kind = TaskKind::execute;
  task.state = TaskState::queued;
  task.preferred = kWorker;
  task.priority = -3;
  task.ready = {1'000};
  return task;
}

std::vector<Transition> small_campaign() {
  CampaignRow campaign;
  campaign.id = kCampaign;
  campaign.owner = "alice";
  campaign.name = "first";
  campaign.priority = 7;
  campaign.document = R"({"name":"first"})";
  campaign.digest = std::string(64, 'a');
  campaign.idempotency_key = "once";
  campaign.created = {900};
  RepositoryRow repository;
  repository.id = kRepository;
  repository.campaign = kCampaign;
  repository.ordinal = 3;
  repository.name = "https://example.com/a.git@main";
  repository.source = R"({"git":{}})";
  repository.subdirs = {"a", "b \"c\""};
  UnitRow unit;
  unit.id = kUnit;
  unit.campaign = kCampaign;
  unit.repository = kRepository;
  unit.info = R"({"dir":"."})";
  return {CampaignCreated{campaign}, RepositoryCreated{repository}, UnitCreated{unit},
          TaskCreated{queued_task(), R"({"execute":{}})"}};
}

TaskResult passing_result(TaskId task, Token token) {
  TaskResult result;
  result.task = task;
  result.token = token;
  result.outcome = Outcome::passing;
  result.message = "all of it";
  return result;
}

}  // namespace cupel::coordinator::sql
