/// Where the store is, as the configuration names it.
#pragma once

#include "common/core/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace cupel::coordinator::sql {

/// A server's database, by libpq's keywords ("host", "dbname", ...). The password is apart, so that
/// nothing that is shown or logged can hold it.
struct PostgresLocation {
  std::map<std::string, std::string> parameters;
  std::string password;  ///< Empty: libpq's own ways (PGPASSFILE, peer authentication, ...).
};

class StoreLocation {
 public:
  /// An SQLite file.
  StoreLocation(std::filesystem::path file)  // NOLINT(google-explicit-constructor)
      : where_(std::move(file)) {}
  explicit StoreLocation(PostgresLocation database) : where_(std::move(database)) {}

  [[nodiscard]] const std::filesystem::path* file() const {
    return std::get_if<std::filesystem::path>(&where_);
  }
  [[nodiscard]] const PostgresLocation* postgres() const {
    return std::get_if<PostgresLocation>(&where_);
  }
  /// For people: the file, or "postgresql://HOST/DATABASE".
  [[nodiscard]] std::string name() const;

 private:
  std::variant<std::filesystem::path, PostgresLocation> where_;
};

/// "sqlite:PATH", or libpq's "postgresql://[USER@]HOST[:PORT][,...]/DATABASE[?KEY=VALUE&...]"; an
/// empty text or "sqlite:" mean `own_file`. `password` goes with the latter. Errors: bad_config;
/// a password inside the URL is one, since everybody on the machine could read it.
[[nodiscard]] Result<StoreLocation> parse_store_location(std::string_view text,
                                                         const std::filesystem::path& own_file,
                                                         std::string password = {});

}  // namespace cupel::coordinator::sql
