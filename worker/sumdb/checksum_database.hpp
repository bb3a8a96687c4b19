/// A client of a checksum database that believes nothing but signatures and proofs, and remembers
/// the newest signed tree. Blocking; one thread at a time.
#pragma once

#include "common/core/error.hpp"
#include "common/curl/http_fetch.hpp"
#include "worker/core/sumdb/lookup.hpp"
#include "worker/core/sumdb/note.hpp"
#include "worker/core/sumdb/tiles.hpp"
#include "worker/sumdb/module_proxies.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker::sumdb {

struct DatabaseSettings {
  Database database;
  /// Asked first, as the go command does, unless the database names its own place.
  std::vector<ModuleProxy> proxies;
  /// Exists and is ours: the newest tree is kept here, one file for each database.
  std::filesystem::path directory;
};

class ChecksumDatabase {
 public:
  ChecksumDatabase(DatabaseSettings settings, curl::Fetch fetch);

  /// The sums of a module, after its record has been proved to stand in the newest signed tree that
  /// this client knows, and that tree to go on from every one before it.
  ///
  /// An answer may carry an older tree (proxies keep answers for a while): it must be a beginning
  /// of the kept one, which it never replaces. Errors: not_found (the database doesn't have it),
  /// artifact_mismatch and bad_value (an answer that is forged or malformed, or a log that was
  /// rewritten: nothing of it may be used), io_error, too_large, cancelled (no answer).
  [[nodiscard]] Result<ModuleSums> lookup(const ModuleVersion& module);

  /// The newest signed tree; nothing before the first answer.
  [[nodiscard]] const std::optional<Tree>& kept() const { return kept_; }
  [[nodiscard]] std::filesystem::path tree_file() const;

 private:
  Result<std::string> place();
  Result<std::string> get(const std::string& path, std::uint64_t bytes_max);
  Result<TileData> tiles(const std::vector<Tile>& wanted);
  Result<std::string> tile(const Tile& wanted);
  void remember(const TileData& proved);
  Result<void> load();
  Result<Tree> keep(const std::string& note, const Tree& tree);
  /// The kept tree, after it has taken the note in.
  Result<Tree> follow(const std::string& note);

  DatabaseSettings settings_;
  curl::Fetch fetch_;
  std::string place_;  ///< Empty: not found out yet.
  bool loaded_ = false;
  std::optional<Tree> kept_;
  std::optional<Tree> older_;  ///< The last one that was proved to be a beginning of the kept one.
  TileData proved_;            ///< Of the log, whatever its size: tiles don't change.
};

}  // namespace cupel::worker::sumdb
