/// One connection to the store: everything that differs between databases, and nothing else.
/// Internal to coordinator/sql.
#pragma once

#include "common/core/error.hpp"

#include <soci/soci.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace cupel::coordinator::sql {

enum class Access : std::uint8_t { read_write, read_only };

class Connection {
 public:
  /// Errors: store_failed, disk_full, bad_config (a path that can't be written down).
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open_sqlite(
      const std::filesystem::path& file, Access access);

  [[nodiscard]] soci::session& session() { return session_; }
  /// Runs `work` in one transaction that holds the write lock from its start (a reading transaction
  /// that wants to write later fails at once when another writer was faster, whatever the busy
  /// timeout says). Rolls back when `work` fails. No exception leaves it.
  [[nodiscard]] Result<void> in_transaction(const std::function<Result<void>()>& work);
  /// Runs `work` with a database exception turned into an error.
  [[nodiscard]] Result<void> guarded(const std::function<Result<void>()>& work);
  /// The dialect's own words in place of {{id}}.
  [[nodiscard]] std::string in_dialect(std::string sql) const;

 private:
  Connection() = default;
  soci::session session_;
  std::unique_ptr<soci::statement> begin_;  ///< Made by the first transaction.
  std::unique_ptr<soci::statement> commit_;
  std::string name_;
};

/// Ids are 64 bits without sign (those of workers are random); BIGINT has a sign. The bits are
/// kept.
[[nodiscard]] inline long long to_sql(std::uint64_t value) {
  return static_cast<long long>(value);
}
[[nodiscard]] inline std::uint64_t from_sql(long long value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace cupel::coordinator::sql
