/// Snapshots: a commit (or a module) as plain files, written once, verified, never changed.
///
/// Below the parent (0700) every snapshot has a fresh random name; directories are 0555, files 0444
/// or 0555, so that the container's user reads everything and nobody writes. Links stay links. No
/// .git. Blocking; safe from any thread. Nothing is left behind on an error or a refusal.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/source/object_store.hpp"
#include "worker/core/source/admission.hpp"
#include "worker/core/source/notes.hpp"
#include "worker/core/source/units.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::worker {

struct Snapshot {
  std::filesystem::path dir;
  std::string tree;  ///< Digest over every path, mode and content, as read back from the disk.
  std::uint64_t files = 0;  ///< Files and links.
  std::uint64_t bytes = 0;
  SnapshotNotes notes;
  SourceView view;  ///< For discover_units().
};

using SnapshotAnswer = std::variant<Snapshot, SourceRefusal>;

/// Refusals: what admit() and read_tree() say, submodule_untrusted_url, acquire_incomplete.
/// Errors: disk_full, io_error.
[[nodiscard]] Result<SnapshotAnswer> write_snapshot(const source::ObjectStore& store,
                                                    const gitfmt::ObjectId& commit,
                                                    const std::filesystem::path& parent,
                                                    const SnapshotLimits& limits = {});

/// The zip of a module (every name begins with "path@version/"). Links and odd entries are refused:
/// module zips have none. `go_mod` is the go.mod that the go command synthesised; it is written
/// where the zip has none. Refusals: malformed_tree, snapshot_too_large, path_too_long.
[[nodiscard]] Result<SnapshotAnswer> unpack_module_zip(const std::filesystem::path& zip,
                                                       const std::string& module_path,
                                                       const std::string& version,
                                                       const std::string& go_mod,
                                                       const std::filesystem::path& parent,
                                                       const SnapshotLimits& limits = {});

/// A second snapshot, under its own name, in which these files (path below the root, content) are
/// new or replaced; everything else is shared by hard links, or copied where links are impossible.
struct DerivedSnapshot {
  std::filesystem::path dir;
  std::string tree;
};
[[nodiscard]] Result<DerivedSnapshot> derive_snapshot(
    const std::filesystem::path& base, const std::map<std::string, std::string>& changed,
    const std::filesystem::path& parent);

/// A file of a derived snapshot; without content it is gone.
struct FileEdit {
  std::optional<std::string> content;
  bool executable = false;
  friend bool operator==(const FileEdit&, const FileEdit&) = default;
};
using TreeEdits = std::map<std::string, FileEdit>;  ///< By path below the root.

/// A file of a snapshot as the edit that brings it about; without content where there is none.
/// Errors: too_large (64 MiB), bad_value (no plain file), io_error.
[[nodiscard]] Result<FileEdit> read_snapshot_file(const std::filesystem::path& snapshot,
                                                  const std::string& path);

/// The same with files that may be removed or have another mode.
[[nodiscard]] Result<DerivedSnapshot> derive_snapshot(const std::filesystem::path& base,
                                                      const TreeEdits& edits,
                                                      const std::filesystem::path& parent);

/// A second snapshot that also holds other snapshots, each below its path (which nothing occupies).
[[nodiscard]] Result<DerivedSnapshot> graft_snapshots(
    const std::filesystem::path& base, const std::map<std::string, std::filesystem::path>& grafts,
    const std::filesystem::path& parent);

/// The digest of what lies there now. Follows no link; errors for anything but files, folders,
/// links.
[[nodiscard]] Result<std::string> tree_digest(const std::filesystem::path& dir);

}  // namespace cupel::worker
