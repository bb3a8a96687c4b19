/// A snapshot of a vulnerability database in the layout of the Go vulnerability database: which
/// files may be in it, whether they agree with one another, and what names the content. Pure.
#pragma once

#include "common/core/outcome.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace cupel::vulndb {

struct Limits {
  std::uint64_t archive_bytes = 64ULL << 20;
  std::uint64_t total_bytes = 256ULL << 20;
  std::uint64_t file_bytes = 8ULL << 20;
  std::size_t files = 100'000;
};

/// Why there is no snapshot: vulndb_corrupt (what is there can't be used) or vulndb_unavailable
/// (nothing could be read).
struct Problem {
  Reason reason = Reason::vulndb_corrupt;
  std::string message;  ///< One line.
};

struct Database {
  std::map<std::string, std::string> files;  ///< Path to content.
  std::string id;    ///< SHA-256, hex, over the sorted lines "PATH SHA256\n".
  std::string time;  ///< "modified" of index/db.json.
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
};

/// Takes files in any order.
class Builder {
 public:
  explicit Builder(Limits limits = {}) : limits_(limits) {}

  /// Whether a database may hold a file of this name.
  [[nodiscard]] static bool is_allowed(std::string_view path);
  /// Problems: a name that is not allowed, a second file of one name, anything over a limit.
  [[nodiscard]] std::optional<Problem> add(std::string path, std::string bytes);
  /// Problems: an index that is missing or unreadable (a scanner would take such a folder for
  /// another layout, in silence), an entry that the indexes name and that is not there, an entry
  /// that an index doesn't name, an entry under another name than its own. The builder is spent.
  [[nodiscard]] std::variant<Database, Problem> finish();

 private:
  Limits limits_;
  Database database_;
};

/// A tar of the files: the same bytes for the same content, whoever makes it.
[[nodiscard]] std::string to_tar(const Database& database);

}  // namespace cupel::vulndb
