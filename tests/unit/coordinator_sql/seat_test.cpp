#include "coordinator/sql/seat.hpp"

#include "coordinator/sql/connection.hpp"
#include "tests/support/postgres.hpp"
#include "tests/unit/coordinator_sql/fixture.hpp"

#include <chrono>
#include <thread>

namespace cupel::coordinator::sql {
namespace {

using std::chrono::milliseconds;
using tests::Postgres;

class PostgresSeat : public testing::Test {
 protected:
  std::unique_ptr<Seat> open(const std::string& instance,
                             Duration lease = std::chrono::seconds(60)) {
    auto seat = Seat::open(store_, {.instance = instance,
                                    .name = "host-" + instance,
                                    .lease = lease,
                                    .grace = milliseconds(100)});
    EXPECT_TRUE(seat);
    return seat ? std::move(*seat) : nullptr;
  }
  static Leader take(Seat& seat) {
    const auto tried = seat.try_take();
    EXPECT_TRUE(tried && tried->taken);
    return tried && tried->taken ? *tried->taken : Leader{};
  }
  /// Tries as a coordinator does, for at most ten seconds.
  static std::optional<Leader> take_in_time(Seat& seat, bool& ended_holder) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
      const auto tried = seat.try_take();
      if (!tried) return std::nullopt;
      if (tried->taken) return tried->taken;
      ended_holder = ended_holder || tried->ended_holder;
    }
    return std::nullopt;
  }
  std::unique_ptr<SqlWriter> writer_of(const Leader& leader) {
    WriterOptions options;
    options.leader = leader;
    auto writer = SqlWriter::open(store_, std::move(options));
    EXPECT_TRUE(writer);
    return writer ? std::move(*writer) : nullptr;
  }
  std::string url_ = Postgres::shared().fresh_database();
  StoreLocation store_ = *parse_store_location(url_, {});
};

TEST_F(PostgresSeat, OneHasItAndTheOtherLearnsWhose) {
  const auto a = open("a");
  const auto b = open("b");
  EXPECT_EQ(take(*a).epoch, 1U);

  const auto tried = b->try_take();

  ASSERT_TRUE(tried) << tried.error().text();
  EXPECT_FALSE(tried->taken);
  EXPECT_EQ(tried->holder, "host-a");
  EXPECT_TRUE(a->renew());
}

TEST_F(PostgresSeat, ItIsFreeAtOnceWhenItsHolderGoes) {
  auto a = open("a");
  const auto b = open("b");
  take(*a);
  a.reset();
  EXPECT_EQ(take(*b).epoch, 2U);
}

TEST_F(PostgresSeat, ItIsFreeAtOnceWhenItsHoldersConnectionIsGone) {
  const auto a = open("a");
  const auto b = open("b");
  take(*a);
  a->cut();
  bool ended = false;
  const auto taken = take_in_time(*b, ended);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->epoch, 2U);
  EXPECT_FALSE(a->renew());
}

TEST_F(PostgresSeat, WhoRenewsInTimeKeepsItAndWhoStandsStillLosesIt) {
  const auto a = open("a", milliseconds(400));
  const auto b = open("b");
  take(*a);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(a->renew());
    const auto tried = b->try_take();
    ASSERT_TRUE(tried);
    ASSERT_FALSE(tried->taken || tried->ended_holder);
    std::this_thread::sleep_for(milliseconds(40));  // twice the lease in all
  }

  bool ended = false;
  const auto taken = take_in_time(*b, ended);

  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->epoch, 2U);
  EXPECT_TRUE(ended);
  const auto late = a->renew();
  ASSERT_FALSE(late);
}

TEST_F(PostgresSeat, AHolderThatTookTheLockAndWroteNothingIsEndedToo) {
  const auto b = open("b");
  // Somebody's session holds the lock alone, while the row names an older leader.
  take(*open("old", milliseconds(1)));
  auto stuck = Connection::open(store_);
  ASSERT_TRUE(stuck);
  (*stuck)->session()
      << "SELECT pg_advisory_lock(hashtextextended('cupel leader ' || current_schema(), 0))";
  bool ended = false;
  const auto taken = take_in_time(*b, ended);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(ended);
}

TEST_F(PostgresSeat, AnOldLeadersTransactionWritesNothing) {
  auto a = open("a");
  const Leader old = take(*a);
  ASSERT_TRUE(prepare_store(store_, old));
  const auto writer = writer_of(old);
  ASSERT_TRUE(commit(*writer, small_campaign()));
  // Its connections live on, as if the database had refused to end them.
  Postgres::sql(url_, "UPDATE leadership SET epoch = 2, instance = 'b'");

  const auto failed = commit(*writer, {TaskLeased{kTask, kToken, kWorker, {2'000}}});

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::lease_lost) << failed.error().text();
  EXPECT_NE(failed.error().what.find("another coordinator leads"), std::string::npos);
  const auto task = (*SqlReader::open(store_))->task(kTask);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->task.state, TaskState::queued);
  EXPECT_EQ(prepare_store(store_, old).error().code, Errc::lease_lost);
  const auto renewed = a->renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::lease_lost);
}

TEST_F(PostgresSeat, ATransactionThatStandsStillDoesNotHoldUpTheNextLeader) {
  auto a = open("a", milliseconds(300));
  const Leader old = take(*a);
  ASSERT_TRUE(prepare_store(store_, old));
  auto stopped = Connection::open(store_, opening_for(old));
  ASSERT_TRUE(stopped);
  Result<void> outcome;
  const auto done = (*stopped)->in_transaction([&]() -> Result<void> {
    (*stopped)->session() << "UPDATE facts SET value = 'of the old leader'";
    // The process stands still here.
    const auto b = open("b");
    bool ended = false;
    const auto taken = take_in_time(*b, ended);
    EXPECT_TRUE(taken && taken->epoch == 2);
    return {};
  });

  EXPECT_FALSE(done) << "its commit must not succeed";
  EXPECT_NE(Postgres::sql(url_, "SELECT value FROM facts").front(), "of the old leader");
}

TEST_F(PostgresSeat, NumbersGoOnAboveThoseOfTheLeaderBefore) {
  auto a = open("a");
  const Leader first = take(*a);
  ASSERT_TRUE(prepare_store(store_, first));
  ASSERT_TRUE(commit(*writer_of(first),
                     {SequencesReserved{100, 20'000}, EventAppended{{}, "x", "{}", {}}}));
  a.reset();
  const auto b = open("b");
  const Leader second = take(*b);
  ASSERT_TRUE(prepare_store(store_, second));

  const auto recovered = (*SqlReader::open(store_))->recover();
  const auto applied = commit(*writer_of(second), {EventAppended{{}, "y", "{}", {}}});

  ASSERT_TRUE(recovered && applied);
  EXPECT_EQ(recovered->sequences.tokens, 20'000U);
  EXPECT_EQ(applied->events.front().seq, 2U);
}

TEST_F(PostgresSeat, ADatabaseThatCanOnlyBeReadHasNoLeader) {
  const std::string name = Postgres::sql(url_, "SELECT current_database()").front();
  Postgres::sql(url_, "ALTER DATABASE " + name + " SET default_transaction_read_only = on");
  const auto a = open("a");
  const auto refused = a->try_take();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("can only be read"), std::string::npos)
      << refused.error().text();
  Postgres::sql(url_, "SET transaction_read_only = off; ALTER DATABASE " + name +
                          " SET default_transaction_read_only = off");

  EXPECT_EQ(take(*open("b")).epoch, 1U) << "the lock was let go";
}

}  // namespace
}  // namespace cupel::coordinator::sql
