#include "coordinator/sql/seat.hpp"

#include "coordinator/sql/connection.hpp"

#include <utility>

namespace cupel::coordinator::sql {
namespace {

using soci::into;
using soci::use;
using Clock = std::chrono::steady_clock;

// One key for each schema of the database, as the tables are.
constexpr const char* kKey = "hashtextextended('cupel leader ' || current_schema(), 0)";

std::string application_of(const std::string& instance) {
  return "cupel-coordinator-" + instance;
}

}  // namespace

struct Seat::Inside {
  SeatSettings settings;
  std::unique_ptr<Connection> connection;
  std::optional<Leader> leader;
  long long stale_pid = 0;  ///< Who held the lock when its lease was first seen to be over,
  Clock::time_point stale_since;

  [[nodiscard]] soci::session& session() const { return connection->session(); }
  [[nodiscard]] std::string lease_end() const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(settings.lease).count();
    return "clock_timestamp() + interval '" + std::to_string(ms) + " milliseconds'";
  }

  [[nodiscard]] bool lock() const;
  void unlock() const;
  Result<void> take();
  void end_connections_of(const std::string& instance) const;
  Result<void> look_at_holder(Tried& tried);
};

bool Seat::Inside::lock() const {
  int locked = 0;
  session() << std::string("SELECT CAST(pg_try_advisory_lock(") + kKey + ") AS INTEGER)",
      into(locked);
  return locked != 0;
}

void Seat::Inside::unlock() const {
  if (connection->lost()) return;
  const auto ignored = connection->guarded([&]() -> Result<void> {
    int unlocked = 0;
    session() << std::string("SELECT CAST(pg_advisory_unlock(") + kKey + ") AS INTEGER)",
        into(unlocked);
    return {};
  });
  static_cast<void>(ignored);  // then the connection is gone, and the lock with it
}

// Its backends end in the middle of whatever they do; what they haven't committed is rolled back.
void Seat::Inside::end_connections_of(const std::string& instance) const {
  const std::string application = application_of(instance);
  long long ended = 0;
  session() << "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
               "current_database() AND pid <> pg_backend_pid() AND application_name = :a",
      use(application), into(ended);
}

Result<void> Seat::Inside::take() {
  session() << "CREATE TABLE IF NOT EXISTS leadership (epoch BIGINT NOT NULL PRIMARY KEY, instance "
               "TEXT NOT NULL, name TEXT NOT NULL, ends TIMESTAMP WITH TIME ZONE NOT NULL)";
  session() << "INSERT INTO leadership (epoch, instance, name, ends) SELECT 0, '', '', "
               "clock_timestamp() WHERE NOT EXISTS (SELECT 1 FROM leadership)";
  // Whoever led before leads no longer, so its transactions need not end: one that stands still
  // would keep the row.
  std::string former;
  session() << "SELECT instance FROM leadership", into(former);
  if (!former.empty()) end_connections_of(former);
  return connection->in_transaction([&]() -> Result<void> {
    long long epoch = 0;
    session() << "SET LOCAL synchronous_commit = on";
    session() << "UPDATE leadership SET epoch = epoch + 1, instance = :i, name = :n, ends = " +
                     lease_end() + " RETURNING epoch",
        use(settings.instance), use(settings.name), into(epoch);
    leader = Leader{from_sql(epoch), application_of(settings.instance)};
    return {};
  });
}

Result<void> Seat::Inside::look_at_holder(Tried& tried) {
  int there = 0;
  session() << "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'leadership' AND schemaname = "
               "current_schema()",
      into(there);
  int over = 0;
  if (there != 0) {
    session() << "SELECT name, CAST(ends < clock_timestamp() AS INTEGER) FROM leadership",
        into(tried.holder), into(over);
  }
  long long pid = 0;
  session() << std::string(
                   "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND "
                   "objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname "
                   "= current_database()) AND (CAST(classid AS BIGINT) << 32 | CAST(objid "
                   "AS BIGINT)) = ") +
                   kKey,
      into(pid);
  if (!session().got_data() || over == 0) {
    stale_pid = 0;
    return {};
  }
  // The lock may have changed hands this moment, and its new holder be about to write the row.
  if (pid != stale_pid) {
    stale_pid = pid;
    stale_since = Clock::now();
  }
  if (Clock::now() - stale_since < settings.grace) return {};
  stale_pid = 0;
  tried.ended_holder = true;
  std::string instance;
  session() << "SELECT instance FROM leadership", into(instance);
  end_connections_of(instance);
  int ended = 0;
  session() << "SELECT CAST(pg_terminate_backend(CAST(:p AS INTEGER)) AS INTEGER)", use(pid),
      into(ended);
  return {};
}

Seat::Seat(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

Result<std::unique_ptr<Seat>> Seat::open(const StoreLocation& database, SeatSettings settings) {
  auto inside = std::make_unique<Inside>();
  inside->settings = std::move(settings);
  Opening opening;
  opening.application = application_of(inside->settings.instance);
  auto connection = Connection::open(database, opening);
  if (!connection) return connection.error();
  inside->connection = std::move(*connection);
  const auto configured = inside->connection->guarded([&]() -> Result<void> {
    // A lease that a crash of the server forgets has lost its lock as well: it needs no sync.
    inside->session() << "SET synchronous_commit = off";
    inside->session() << "SET lock_timeout = '3s'";
    inside->session() << "SET statement_timeout = '3s'";
    return {};
  });
  if (!configured) return configured.error();
  return std::unique_ptr<Seat>(new Seat(std::move(inside)));
}

Seat::~Seat() {
  if (!inside_->leader || inside_->connection->lost()) return;
  const auto ignored = inside_->connection->guarded([&]() -> Result<void> {
    inside_->session() << "UPDATE leadership SET ends = clock_timestamp() WHERE epoch = " +
                              std::to_string(inside_->leader->epoch);
    return {};
  });
  static_cast<void>(ignored);
  inside_->unlock();  // the server notices the end of a connection a moment later
}

void Seat::cut() {
  inside_->connection->cut();
}

Result<Seat::Tried> Seat::try_take() {
  Tried tried;
  bool locked = false;
  auto done = inside_->connection->guarded([&]() -> Result<void> {
    locked = inside_->lock();
    if (!locked) return inside_->look_at_holder(tried);
    return inside_->take();
  });
  if (!done) {
    inside_->leader.reset();
    if (locked) inside_->unlock();
    return done.error();
  }
  tried.taken = inside_->leader;
  return tried;
}

Result<void> Seat::renew() {
  auto done = inside_->connection->guarded([&]() -> Result<void> {
    long long epoch = 0;
    inside_->session() << "UPDATE leadership SET ends = " + inside_->lease_end() +
                              " WHERE epoch = " + std::to_string(inside_->leader->epoch) +
                              " RETURNING epoch",
        into(epoch);
    if (inside_->session().got_data()) return {};
    return Error{.code = Errc::lease_lost,
                 .what = "another coordinator has taken the lead",
                 .detail = {},
                 .hint = {}};
  });
  if (!done) inside_->leader.reset();
  return done;
}

}  // namespace cupel::coordinator::sql
