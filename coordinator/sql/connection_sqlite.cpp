#include "coordinator/sql/connection.hpp"
#include "coordinator/sql/log_writes.hpp"

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

// Each connection belongs to one thread at a time, and nobody asks SQLite how much memory it has:
// without its locks for both a statement costs a tenth less. Refused, without harm, when some other
// code of this process has started SQLite before.
void configure_sqlite() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite_api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    gather_log_writes();
  });
}

class SqliteConnection final : public Connection {
 public:
  explicit SqliteConnection(std::string path) : Connection(std::move(path)) {}

  Result<void> open(Access access) {
    return guarded([&]() -> Result<void> { return open_session(access); });
  }
  [[nodiscard]] bool wants_clean_text() const override { return false; }
  [[nodiscard]] bool lost() const override { return false; }
  void cut() override {}

 protected:
  Result<void> begin() override {
    if (!begin_) {
      begin_ = std::make_unique<soci::statement>((session().prepare << "BEGIN IMMEDIATE"));
      commit_ = std::make_unique<soci::statement>((session().prepare << "COMMIT"));
    }
    begin_->execute(true);
    return {};
  }
  void commit() override { commit_->execute(true); }
  // The only form that SQLite makes the row's own key, without a second index.
  [[nodiscard]] std::string_view id_column() const override {
    return "INTEGER NOT NULL PRIMARY KEY";
  }
  [[nodiscard]] Error error_of(const soci::soci_error& error) const override;

 private:
  Result<void> open_session(Access access);

  std::unique_ptr<soci::statement> begin_;  ///< Made by the first transaction.
  std::unique_ptr<soci::statement> commit_;
};

Result<void> SqliteConnection::open_session(Access access) {
  soci::session& session = this->session();
  // A backup or somebody's shell may lock the file: that is waited for a minute, by the I/O thread
  // alone. Only BEGIN IMMEDIATE meets a lock, so nothing is half done then.
  session.open(soci::sqlite3,
               "db=\"" + name() + "\" timeout=60 shared_cache=false synchronous=full");
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
                 .what = "the store " + name() + " can't keep a write-ahead log",
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
}

Error SqliteConnection::error_of(const soci::soci_error& error) const {
  Error out{.code = Errc::store_failed,
            .what = "the store " + name() + " failed",
            .detail = capped_detail(error.what()),
            .hint = {}};
  const auto* known = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
  if (known == nullptr) return out;
  switch (known->result() & 0xff) {
    case kSqliteFull:
      out.code = Errc::disk_full;
      out.what = "no space left for the store " + name();
      break;
    case kSqliteBusy:
      out.what = "another process writes to the store " + name();
      out.hint = "stop it: a coordinator needs its data directory for itself";
      break;
    case kSqliteReadOnly:
      out.what = "the store " + name() + " can't be written";
      out.hint = "check the owner and the permissions of the file and its directory";
      break;
    case kSqliteCorrupt:
    case kSqliteNotADatabase:
      out.what = "the store " + name() + " is damaged, or no store of Cupel's";
      out.hint = "restore it from a backup";
      break;
    default: break;
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Connection>> open_sqlite(const std::filesystem::path& file, Access access) {
  configure_sqlite();
  std::string path = file.string();
  if (path.find('"') != std::string::npos) {
    return Error{.code = Errc::bad_config,
                 .what = "the store's path must not contain quotes: " + path,
                 .detail = {},
                 .hint = {}};
  }
  auto connection = std::make_unique<SqliteConnection>(std::move(path));
  if (auto opened = connection->open(access); !opened) return opened.error();
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace cupel::coordinator::sql
