/// Applying a unified diff with exact context: every line of a hunk must be there, at the line that
/// its header names or, where earlier changes of the repository moved it, at the only other place
/// where it fits. Pure: files come through a callback.
#pragma once

#include "common/text/unified_diff.hpp"
#include "worker/core/change/text_diff.hpp"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::worker::change {

/// Why it can't be applied, in one line that names file and line.
struct PatchFault {
  std::string text;
};

/// One file of the tree that is patched.
struct TreeFile {
  std::string content;
  bool executable = false;
  bool link = false;
};
/// Nothing: there is no such file. Called for every path that the patch names.
using ReadFile = std::function<std::optional<TreeFile>(const std::string& path)>;

/// What the patch makes of the tree. Faults: a file that should or should not be there, a link, a
/// context that differs, a line without an end that would not be the last one.
[[nodiscard]] std::variant<TreeChange, PatchFault> apply_patch(
    const std::vector<text::FileDiff>& patch, const ReadFile& read);

}  // namespace cupel::worker::change
