/// One connection to the store: everything that differs between databases, and nothing else.
/// Internal to coordinator/sql.
#pragma once

#include "common/core/error.hpp"
#include "coordinator/sql/leader.hpp"
#include "coordinator/sql/location.hpp"

#include <soci/soci.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cupel::coordinator::sql {

enum class Access : std::uint8_t { read_write, read_only };

/// How a connection shall be opened.
struct Opening {
  Access access = Access::read_write;
  /// Every transaction checks that this is still the leader's epoch (seat.hpp), and fails with
  /// lease_lost otherwise. Nothing: it doesn't ask.
  std::optional<std::uint64_t> epoch = {};
  /// What the server calls this connection.
  std::string application = "cupel-coordinator";
};

/// For a writer: in its leader's name, or where nobody else can write.
[[nodiscard]] Opening opening_for(const std::optional<Leader>& leader);

class Connection {
 public:
  /// Errors: store_failed, disk_full, bad_config (a path that can't be written down).
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const StoreLocation& location,
                                                                const Opening& opening = {});
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  [[nodiscard]] soci::session& session() { return session_; }
  /// Runs `work` in one transaction that may write from its start (in SQLite a reading transaction
  /// that wants to write later fails at once when another writer was faster, whatever the busy
  /// timeout says). Rolls back when `work` fails. No exception leaves it.
  [[nodiscard]] Result<void> in_transaction(const std::function<Result<void>()>& work);
  /// Runs `work` with a database exception turned into an error.
  [[nodiscard]] Result<void> guarded(const std::function<Result<void>()>& work);

  /// The dialect's own words in place of {{id}}.
  [[nodiscard]] std::string in_dialect(std::string sql) const;
  /// Texts must be UTF-8 without NUL: what others wrote has to go through clean_text() first.
  [[nodiscard]] virtual bool wants_clean_text() const = 0;
  /// It is broken and has to be opened anew.
  [[nodiscard]] virtual bool lost() const = 0;
  /// From any thread: what waits for the database fails now.
  virtual void cut() = 0;

 protected:
  explicit Connection(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] virtual Result<void> begin() = 0;
  virtual void commit() = 0;
  [[nodiscard]] virtual Error error_of(const soci::soci_error& error) const = 0;
  [[nodiscard]] virtual std::string_view id_column() const = 0;

 private:
  std::string name_;
  soci::session session_;
};

[[nodiscard]] Result<std::unique_ptr<Connection>> open_sqlite(const std::filesystem::path& file,
                                                              Access access);
[[nodiscard]] Result<std::unique_ptr<Connection>> open_postgres(const StoreLocation& location,
                                                                const Opening& opening);

/// Ids are 64 bits without sign (those of workers are random); BIGINT has a sign. The bits are
/// kept.
[[nodiscard]] inline long long to_sql(std::uint64_t value) {
  return static_cast<long long>(value);
}
[[nodiscard]] inline std::uint64_t from_sql(long long value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace cupel::coordinator::sql
