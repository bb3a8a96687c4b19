#include "coordinator/sql/connection.hpp"

#include <soci/sqlite3/soci-sqlite3.h>

#include <mutex>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

constexpr int kSqliteBusy = 5;
constexpr int kSqliteReadOnly = 8;
constexpr int kSqliteCorrupt = 11;
constexpr int kSqliteFull = 13;
constexpr int kSqliteNotADatabase = 26;

Error sqlite_error(const std::string& store, const soci::sqlite3_soci_error& error) {
  Error out{.code = Errc::store_failed,
            .what = "the store " + store + " failed",
            .detail = capped_detail(error.what()),
            .hint = {}};
  switch (error.result() & 0xff) {
    case kSqliteFull:
      out.code = Errc::disk_full;
      out.what = "no space left for the store " + store;
      break;
    case kSqliteBusy:
      out.what = "another process writes to the store " + store;
      out.hint = "stop it: a coordinator needs its data directory for itself";
      break;
    case kSqliteReadOnly:
      out.what = "the store " + store + " can't be written";
      out.hint = "check the owner and the permissions of the file and its directory";
      break;
    case kSqliteCorrupt:
    case kSqliteNotADatabase:
      out.what = "the store " + store + " is damaged, or no store of Cupel's";
      out.hint = "restore it from a backup";
      break;
    default: break;
  }
  return out;
}

// Each connection belongs to one thread at a time, and nobody asks SQLite how much memory it has:
// without its locks for both a statement costs a tenth less. Refused, without harm, when some other
// code of this process has started SQLite before.
void configure_sqlite() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  });
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open_sqlite(const std::filesystem::path& file,
                                                            Access access) {
  configure_sqlite();
  const std::string path = file.string();
  if (path.find('"') != std::string::npos) {
    return Error{.code = Errc::bad_config,
                 .what = "the store's path must not contain quotes: " + path,
                 .detail = {},
                 .hint = {}};
  }
  std::unique_ptr<Connection> connection(new Connection);
  connection->name_ = path;
  soci::session& session = connection->session_;
  const auto opened = connection->guarded([&]() -> Result<void> {
    session.open(soci::sqlite3,
                 "db=\"" + path + "\" timeout=10 shared_cache=false synchronous=full");
    std::string mode;
    // FULL: a commit is on the disk when it returns; everything that the fleet is promised rests on
    // it.
    session << "PRAGMA synchronous=FULL";
    if (access == Access::read_only) {
      session << "PRAGMA query_only=ON";
      return {};
    }
    session << "PRAGMA journal_mode=WAL", soci::into(mode);
    if (mode != "wal") {
      return Error{.code = Errc::store_failed,
                   .what = "the store " + path + " can't keep a write-ahead log",
                   .detail = "journal mode is " + mode,
                   .hint = "put the data directory on a local file system"};
    }
    // KiB. The pages that each commit touches stay in memory even in a store of millions of tasks.
    session << "PRAGMA cache_size=-12288";
    int pages = 0;
    session << "PRAGMA wal_autocheckpoint=4000", soci::into(pages);
    long long bytes = 0;
    session << "PRAGMA journal_size_limit=67108864", soci::into(bytes);
    return {};
  });
  if (!opened) return opened.error();
  return connection;
}

Result<void> Connection::guarded(const std::function<Result<void>()>& work) {
  try {
    return work();
  } catch (const soci::sqlite3_soci_error& error) {
    return sqlite_error(name_, error);
  } catch (const soci::soci_error& error) {
    return Error{.code = Errc::store_failed,
                 .what = "the store " + name_ + " failed",
                 .detail = capped_detail(error.what()),
                 .hint = {}};
  }
}

Result<void> Connection::in_transaction(const std::function<Result<void>()>& work) {
  auto done = guarded([&]() -> Result<void> {
    if (!begin_) {
      begin_ = std::make_unique<soci::statement>((session_.prepare << "BEGIN IMMEDIATE"));
      commit_ = std::make_unique<soci::statement>((session_.prepare << "COMMIT"));
    }
    begin_->execute(true);
    auto worked = work();
    if (worked) commit_->execute(true);
    return worked;
  });
  if (done) return done;
  // After some failures SQLite has rolled back by itself, and then this one fails: nothing to do
  // about it.
  const auto ignored = guarded([&]() -> Result<void> {
    session_ << "ROLLBACK";
    return {};
  });
  static_cast<void>(ignored);
  return done;
}

std::string Connection::in_dialect(std::string sql) const {
  // The only form that SQLite makes the row's own key, without a second index.
  constexpr std::string_view kMark = "{{id}}";
  constexpr std::string_view kId = "INTEGER NOT NULL PRIMARY KEY";
  for (std::size_t at = sql.find(kMark); at != std::string::npos; at = sql.find(kMark, at)) {
    sql.replace(at, kMark.size(), kId);
    at += kId.size();
  }
  return sql;
}

}  // namespace cupel::coordinator::sql
