// What only a server can do to the store: refuse, end connections, be asked for a password.
#include "tests/support/postgres.hpp"

#include "coordinator/sql/connection.hpp"
#include "tests/unit/coordinator_sql/fixture.hpp"

namespace cupel::coordinator::sql {
namespace {

using tests::Postgres;

class PostgresStore : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(prepare_store(store_)); }
  std::unique_ptr<SqlWriter> open_writer() {
    auto writer = SqlWriter::open(store_);
    EXPECT_TRUE(writer);
    return writer ? std::move(*writer) : nullptr;
  }
  std::vector<std::string> sql(const std::string& text) { return Postgres::sql(url_, text); }
  void end_connections() {
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid()");
  }

  ScratchDir dir_;
  std::string url_ = Postgres::shared().fresh_database();
  StoreLocation store_ = *parse_store_location(url_, {});
};

TEST_F(PostgresStore, BytesThatAreNoTextAreWrittenAsReplacements) {
  auto batch = small_campaign();
  auto& unit = std::get<UnitCreated>(batch[2]).unit;
  unit.message = std::string("a\xff b\0c", 6);
  ASSERT_TRUE(commit(*open_writer(), std::move(batch)));

  const auto read = (*SqlReader::open(store_))->unit(kUnit);

  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->message,
            "a\xef\xbf\xbd b\xef\xbf\xbd"
            "c");
}

TEST_F(PostgresStore, QuestionsThatAreNoTextFindNothing) {
  auto reader = SqlReader::open(store_);
  EXPECT_TRUE((*reader)->flakes("\xff\xfe", {}));
  EXPECT_FALSE(*(*reader)->find_idempotent("a", "\xff"));
}

TEST_F(PostgresStore, AReaderComesBackAfterItsConnectionWasEnded) {
  ASSERT_TRUE(commit(*open_writer(), small_campaign()));
  const auto reader = SqlReader::open(store_);
  ASSERT_TRUE((*reader)->campaign(kCampaign));

  end_connections();

  const auto again = (*reader)->campaign(kCampaign);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->campaign.owner, "alice");
}

TEST_F(PostgresStore, AWriterWhoseConnectionWasEndedPromisesNothingMore) {
  const auto writer = open_writer();
  ASSERT_TRUE(commit(*writer, small_campaign()));
  end_connections();

  const auto failed = commit(*writer, {TaskLeased{kTask, kToken, kWorker, {2'000}}});

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::store_failed);
  EXPECT_NE(failed.error().what.find("can't be reached"), std::string::npos)
      << failed.error().text();
  EXPECT_FALSE(commit(*writer, {EventAppended{{}, "a", "{}", {}}}));
  EXPECT_EQ((*SqlReader::open(store_))->task(kTask)->task.state, TaskState::queued);
}

TEST_F(PostgresStore, ADatabaseThatCanOnlyBeReadSaysSoAndIsReadOnAndOff) {
  const auto writer = open_writer();
  const auto reader = SqlReader::open(store_);
  const std::string name = sql("SELECT current_database()").front();
  sql("ALTER DATABASE " + name + " SET default_transaction_read_only = on");
  const auto fresh = open_writer();

  const auto failed = commit(*fresh, small_campaign());

  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().what.find("can only be read"), std::string::npos)
      << failed.error().text();
  EXPECT_TRUE((*reader)->recover());
  EXPECT_TRUE(commit(*writer, small_campaign())) << "a session keeps what held at its start";
}

TEST_F(PostgresStore, ACutEndsWhatWaitsForTheServer) {
  const auto writer = open_writer();
  sql("SELECT 1");
  // Another session holds the row that the writer needs.
  auto other = Connection::open(store_);
  ASSERT_TRUE(other);
  ASSERT_TRUE(commit(*writer, small_campaign()));
  (*other)->session() << "BEGIN";
  (*other)->session() << "UPDATE tasks SET priority = 1";
  std::promise<Result<Applied>> promise;
  auto answer = promise.get_future();
  writer->apply({TaskLeased{kTask, kToken, kWorker, {2'000}}},
                [&](Result<Applied> done) { promise.set_value(std::move(done)); });
  while (sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
             "current_database()")
             .empty()) {
  }

  writer->cut();

  ASSERT_EQ(answer.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_FALSE(answer.get());
}

TEST_F(PostgresStore, ThePasswordIsUsedAndNotShown) {
  const std::string url = Postgres::shared().over_tcp(url_);
  const std::string right = Postgres::shared().password();
  const auto good = parse_store_location(url, {}, right);
  ASSERT_TRUE(good);
  EXPECT_TRUE(prepare_store(*good));

  const auto refused = prepare_store(*parse_store_location(url, {}, "hunter2"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text().find("hunter2"), std::string::npos);
  EXPECT_NE(refused.error().text().find("authentication"), std::string::npos)
      << refused.error().text();
}

TEST_F(PostgresStore, ACommitIsOnTheDiskWhateverTheServerWasTold) {
  const std::string name = sql("SELECT current_database()").front();
  sql("ALTER DATABASE " + name + " SET synchronous_commit = off");
  auto connection = Connection::open(store_);
  ASSERT_TRUE(connection);
  std::string setting;
  (*connection)->session() << "SHOW synchronous_commit", soci::into(setting);
  EXPECT_EQ(setting, "on");
}

TEST_F(PostgresStore, ADatabaseThatCannotHoldEveryTextIsRefused) {
  sql("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  std::string url = url_;
  const std::string name = sql("SELECT current_database()").front();
  url.replace(url.find("/" + name + "?"), name.size() + 2, "/latin?");

  const auto refused = prepare_store(*parse_store_location(url, {}));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::bad_config);
}

}  // namespace
}  // namespace cupel::coordinator::sql
