/// Brings a store to the schema of this program. Internal to coordinator/sql.
#pragma once

#include "common/core/error.hpp"
#include "coordinator/sql/connection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator::sql {

struct Migration {
  std::string_view name;  ///< "0001_first"; the number is the version.
  std::string_view text;
};

/// In order of their numbers, without a gap.
[[nodiscard]] const std::vector<Migration>& migrations();

/// Applies what is missing, each migration in a transaction of its own, so that a crash leaves
/// whole versions. Errors: bad_config (a store of a newer program, or one whose applied migration
/// differs from ours).
[[nodiscard]] Result<void> migrate(Connection& connection,
                                   const std::vector<Migration>& all = migrations());

/// The statements of a migration: they end with ';' at the end of a line.
[[nodiscard]] std::vector<std::string> split_statements(std::string_view text);

}  // namespace cupel::coordinator::sql
