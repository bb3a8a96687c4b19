/// What acquire left on this worker, by repository and commit: snapshots, their notes, module
/// caches. Survives restarts. Blocking; thread-safe (one lock inside), so that the file pool may
/// use it.
///
/// Nothing here is ever deleted and made again under the same path: every directory has a unique
/// name.
#pragma once

#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "common/core/task.hpp"
#include "worker/core/source/notes.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker {

/// A repository's snapshot.
struct SourceWorkspace {
  std::string snapshot;  ///< Host directory: the tree as committed, read-only.
  SnapshotNotes notes;
  SourceFacts facts;
};

/// What one unit's execute runs mount.
struct UnitWorkspace {
  std::string source;  ///< Host directory: the snapshot, or a second one with completed manifests.
  std::string modcache;  ///< Host directory; an empty one for a vendored unit.
  ModuleFacts facts;
  UnitInfo unit;                  ///< With what acquire completed (a go line).
  std::vector<Finding> findings;  ///< Notes of acquire (go_sum_incomplete, go_line_added, ...).
};

class Workspaces {
 public:
  /// Opens (or makes) the directory, 0700; what a crash left half-made is removed.
  [[nodiscard]] static Result<Workspaces> open(std::string directory);
  Workspaces(Workspaces&&) noexcept;
  Workspaces& operator=(Workspaces&&) noexcept;
  ~Workspaces();

  /// A new directory with a unique name for something that is being made. `what` becomes part of
  /// the name. Belongs to the caller until it is recorded.
  [[nodiscard]] Result<std::string> new_directory(std::string_view what);

  /// Removes a directory that new_directory() gave and nothing recorded. What the host alone can't
  /// remove comes back from the next evict().
  void discard(const std::string& directory);

  [[nodiscard]] std::optional<SourceWorkspace> find_source(RepositoryId repository,
                                                           std::string_view commit) const;
  [[nodiscard]] std::optional<UnitWorkspace> find_unit(RepositoryId repository,
                                                       std::string_view commit, UnitId unit) const;
  /// Durable; replaces an earlier record of the same key (its directories are removed later).
  [[nodiscard]] Result<void> record_source(RepositoryId repository, const SourceWorkspace& source);
  [[nodiscard]] Result<void> record_unit(RepositoryId repository, std::string_view commit,
                                         UnitId unit, const UnitWorkspace& workspace);

  /// Keeps a repository's directories from eviction while it lives. Move-only, thread-safe.
  class Pin;
  [[nodiscard]] std::shared_ptr<Pin> pin(RepositoryId repository);

  /// Bytes that all of it takes, as recorded.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Removes the least recently used repositories that nothing pins until at most `bytes_max`
  /// remain. Returns directories that the host alone can't remove (a container wrote them).
  [[nodiscard]] std::vector<std::string> evict(std::uint64_t bytes_max);

 private:
  struct State;
  explicit Workspaces(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cupel::worker
