/// Unified diffs that `git apply` and `git am` take byte for byte. Pure.
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::change {

/// One file on both sides; nothing where it isn't there.
struct FileChange {
  std::optional<std::string> before;
  std::optional<std::string> after;
  bool executable_before = false;
  bool executable_after = false;
};

/// By path below the root of the repository.
using TreeChange = std::map<std::string, FileChange>;

inline constexpr std::uint64_t kDiffBytesMax = 16ULL << 20U;

/// The diff of all files in the order of their paths, with three lines of context; files that are
/// equal are left out. The same input gives the same bytes.
/// Errors: bad_value (a binary file; `what` names it), too_large (over kDiffBytesMax).
[[nodiscard]] Result<std::string> unified_diff(const TreeChange& change);

/// Git's form of a path in a header: as it is, or quoted.
[[nodiscard]] std::string quoted_path(const std::string& path);

}  // namespace cupel::worker::change
