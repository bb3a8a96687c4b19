/// What a snapshot lacks or leaves open: facts that change how its findings must be read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cupel::worker {

/// Paths are bytes as git stores them, below the snapshot's root, sorted; each list is cut at
/// kNotedPathsMax entries.
inline constexpr std::size_t kNotedPathsMax = 1000;

struct SnapshotNotes {
  std::vector<std::string> submodules;    ///< Gitlinks: empty directories in the snapshot.
  std::vector<std::string> lfs_pointers;  ///< Files that are Git LFS pointers, not their content.
  std::vector<std::string>
      escaping_links;  ///< Links whose target leaves the snapshot (kept as links).
  friend bool operator==(const SnapshotNotes&, const SnapshotNotes&) = default;
};

}  // namespace cupel::worker
