#include "common/crash/crash_point.hpp"
#include "coordinator/sql/connection.hpp"
#include "coordinator/sql/statements.hpp"
#include "coordinator/sql/store.hpp"

#include <chrono>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

Error already_failed() {
  return {.code = Errc::store_failed,
          .what = "the store failed before and takes nothing until it is opened again",
          .detail = {},
          .hint = {}};
}

}  // namespace

struct SqlWriter::Inside {
  // In this order: the statements end before their connection.
  std::unique_ptr<Connection> connection;
  std::unique_ptr<Statements> statements;
};

Result<std::unique_ptr<SqlWriter>> SqlWriter::open(const StoreLocation& location,
                                                   WriterOptions options) {
  auto connection = Connection::open(location, opening_for(options.leader));
  if (!connection) return connection.error();
  auto inside = std::make_unique<Inside>();
  inside->connection = std::move(*connection);
  const auto prepared = inside->connection->guarded([&]() -> Result<void> {
    soci::session& session = inside->connection->session();
    long long last = 0;
    session << "SELECT COALESCE(MAX(last), 0) FROM event_packs", soci::into(last);
    inside->statements = std::make_unique<Statements>(session, from_sql(last) + 1,
                                                      inside->connection->wants_clean_text());
    return {};
  });
  if (!prepared) return prepared.error();
  return std::unique_ptr<SqlWriter>(new SqlWriter(std::move(inside), std::move(options)));
}

SqlWriter::SqlWriter(std::unique_ptr<Inside> inside, WriterOptions options)
    : inside_(std::move(inside)), options_(std::move(options)), thread_([this] { run(); }) {}

SqlWriter::~SqlWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SqlWriter::cut() {
  inside_->connection->cut();
}

void SqlWriter::apply(std::vector<Transition> batch, std::function<void(Result<Applied>)> done) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(batch), std::move(done), {}});
    ++waiting_;
  }
  wake_.notify_one();
}

void SqlWriter::expire_events(WallTime before, std::uint32_t limit,
                              std::function<void(Result<std::uint64_t>)> done) {
  auto removed = std::make_shared<std::uint64_t>(0);
  auto work = [this, before, limit, removed] {
    const long long cutoff = before.us;
    const long long rows = limit;
    const std::string which =
        "FROM event_packs WHERE last IN (SELECT last FROM event_packs WHERE at_us < :cutoff AND "
        "last < (SELECT MAX(last) FROM event_packs) AND campaign NOT IN (SELECT id FROM campaigns "
        "WHERE state NOT IN ('finished', 'cancelled')) ORDER BY last LIMIT :rows)";
    long long events = 0;
    soci::session& session = inside_->connection->session();
    session << "SELECT CAST(COALESCE(SUM(last - first + 1), 0) AS BIGINT) " + which,
        soci::into(events), soci::use(cutoff), soci::use(rows);
    session << "DELETE " + which, soci::use(cutoff), soci::use(rows);
    *removed = static_cast<std::uint64_t>(events);
  };
  auto answered = [removed, done = std::move(done)](Result<Applied> applied) {
    if (applied) {
      done(*removed);
    } else {
      done(applied.error());
    }
  };
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({{}, std::move(answered), std::move(work)});
    ++waiting_;
  }
  wake_.notify_one();
}

void SqlWriter::run() {
  for (;;) {
    std::deque<Job> group;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::size_t transitions = 0;
      while (!jobs_.empty() && transitions < options_.group_transitions_max) {
        transitions += jobs_.front().batch.size();
        group.push_back(std::move(jobs_.front()));
        jobs_.pop_front();
      }
    }
    commit(group);
    waiting_ -= group.size();
  }
}

void SqlWriter::commit(std::deque<Job>& group) {
  if (failed_) {
    for (Job& job : group) job.done(already_failed());
    return;
  }
  const auto started = std::chrono::steady_clock::now();
  std::vector<Applied> applied(group.size());
  std::size_t transitions = 0;
  CUPEL_CRASH_POINT("commit.begins");
  const auto committed = inside_->connection->in_transaction([&]() -> Result<void> {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i].work) group[i].work();
      transitions += group[i].batch.size();
      if (auto done = inside_->statements->apply(group[i].batch, applied[i]); !done) return done;
    }
    CUPEL_CRASH_POINT("commit.written");
    return {};
  });
  CUPEL_CRASH_POINT("commit.done");
  failed_ = !committed;
  if (options_.on_commit) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    options_.on_commit(group.size(), transitions, took.count(), !failed_);
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (committed) {
      group[i].done(std::move(applied[i]));
    } else {
      group[i].done(committed.error());
    }
  }
}

}  // namespace cupel::coordinator::sql
