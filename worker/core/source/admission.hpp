/// Which trees become snapshots, and what must be said about those that do. Pure.
#pragma once

#include "common/core/finding.hpp"
#include "common/core/refusal.hpp"
#include "common/gitfmt/object.hpp"
#include "worker/core/source/notes.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// Limits of a snapshot; `depth` counts folders.
struct SnapshotLimits {
  std::uint64_t files = 20'000;
  std::uint64_t bytes = 512ULL << 20;
  std::uint64_t file_bytes = 64ULL << 20;
  std::size_t path_bytes = 4096;
  std::size_t component_bytes = 255;
  std::size_t depth = 128;
};

/// The first reason why this tree can't be written as it is, with the path: malformed_tree (a name
/// that is empty, ".", "..", ".git" in any spelling that a file system folds to it, or holds NUL or
/// '/'; two names that differ only in case; a path that is file and folder at once; an odd mode),
/// path_too_long, snapshot_too_large. Names that are no UTF-8 are fine. `entries` in any order.
[[nodiscard]] std::optional<SourceRefusal> admit(const std::vector<gitfmt::TreeEntry>& entries,
                                                 const SnapshotLimits& limits);

/// True for the text that Git LFS leaves in place of a file.
[[nodiscard]] bool is_lfs_pointer(std::string_view content);
/// No pointer is larger.
inline constexpr std::uint64_t kLfsPointerBytesMax = 1024;

/// True when following this link leaves the tree at some point, even if it would come back:
/// absolute targets, too many "..", also by way of other links (`links`: path to target). Loops and
/// dangling links do not escape.
[[nodiscard]] bool link_escapes(const std::string& path, const std::string& target,
                                const std::map<std::string, std::string>& links);

/// Refusal submodule_untrusted_url when `.gitmodules` names one that must not be fetched, with its
/// line. A file that can't be parsed says nothing: submodules are never fetched here.
[[nodiscard]] std::optional<SourceRefusal> judge_gitmodules(std::string_view text);

/// Remarks for the unit in `unit_dir` ("." = root): one note for each escaping link below it that
/// belongs to no other unit of `unit_dirs`, at most 20.
[[nodiscard]] std::vector<Finding> link_notes(const SnapshotNotes& notes,
                                              const std::string& unit_dir,
                                              const std::vector<std::string>& unit_dirs);

/// Bytes of a path for people: control characters and broken UTF-8 replaced, at most 200 bytes.
[[nodiscard]] std::string shown_path(std::string_view path);

}  // namespace cupel::worker
