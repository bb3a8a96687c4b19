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
#include "worker/fs/snapshot.hpp"

#include <cstdint>
#include <functional>
#include <limits>
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
  bool acquired = true;  ///< False: mutate made it, and its module cache isn't complete yet.
  /// Of an after side: what takes `source` back to the tree that the change made, where acquire
  /// completed its manifests. A patch is about that tree.
  TreeEdits uncompleted;
};

/// Which of a unit's workspaces: 0 is the before side, the others are the after sides of variants.
using WorkspaceSlot = std::uint32_t;
[[nodiscard]] constexpr WorkspaceSlot slot_of(Side side, std::uint16_t variant) {
  return side == Side::before ? 0 : WorkspaceSlot{variant} + 1;
}

/// The after side of a unit about to become real: journaled, written, recorded.
struct Promotion {
  RepositoryId repository;
  std::string commit;
  UnitId unit;
  WorkspaceSlot slot = 1;
  std::string base;       ///< The snapshot that the edits were made against, and
  std::string base_tree;  ///< its digest at that time: another one now is a conflict.
  TreeEdits edits;        ///< The very bytes. May be empty: a second name of the same tree.
  /// Everything but `source` and `facts.tree`, which promote() fills.
  UnitWorkspace workspace;
};

/// Called at each step of a promotion with its name; a test ends its process there.
using CrashHook = std::function<void(std::string_view step)>;

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
                                                       std::string_view commit, UnitId unit,
                                                       WorkspaceSlot slot = 0) const;
  /// Durable; replaces an earlier record of the same key (its directories are removed later).
  [[nodiscard]] Result<void> record_source(RepositoryId repository, const SourceWorkspace& source);
  [[nodiscard]] Result<void> record_unit(RepositoryId repository, std::string_view commit,
                                         UnitId unit, const UnitWorkspace& workspace,
                                         WorkspaceSlot slot = 0);

  /// Writes the after snapshot and records it. A crash at any step leaves, after the next open(),
  /// either what was there before or the whole after side; the journal holds the bytes. Errors:
  /// conflict (the base is not what the edits were made against, or an unfinished promotion of this
  /// key can't be told apart from something else), not_found (no such repository), disk_full,
  /// io_error.
  [[nodiscard]] Result<UnitWorkspace> promote(Promotion promotion);
  /// Unfinished promotions that open() found neither before nor after: nothing was changed there.
  [[nodiscard]] std::size_t conflicts() const;
  void set_crash_hook(CrashHook hook);

  /// Keeps a repository's directories from eviction while it lives. Move-only, thread-safe.
  class Pin;
  [[nodiscard]] std::shared_ptr<Pin> pin(RepositoryId repository);

  /// Bytes that all of it takes, as recorded.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Snapshots that are recorded, each with what its units have.
  [[nodiscard]] std::size_t count() const;
  /// Removes the least recently used repositories that nothing pins until at most `bytes_max` and
  /// `count_max` of them remain. Returns directories that the host alone can't remove (a container
  /// wrote them).
  [[nodiscard]] std::vector<std::string> evict(
      std::uint64_t bytes_max, std::size_t count_max = std::numeric_limits<std::size_t>::max());

 private:
  struct State;
  explicit Workspaces(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cupel::worker
