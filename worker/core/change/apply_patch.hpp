/// Reading a unified diff and applying it with exact context: every line of a hunk must be there,
/// at the line that its header names or, where earlier changes of the repository moved it, at the
/// only other place where it fits. Pure: files come through a callback.
#pragma once

#include "worker/core/change/text_diff.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::worker::change {

struct PatchLine {
  char sign = ' ';   ///< ' ', '-' or '+'.
  std::string text;  ///< With its line end, unless the patch says that there is none.
};

struct Hunk {
  std::size_t old_start = 0;  ///< 1-based, as the header says.
  std::vector<PatchLine> lines;
  std::int32_t line = 0;  ///< Where it stands in the patch.
};

struct FilePatch {
  std::string old_path;            ///< Empty: the file is new.
  std::string new_path;            ///< Empty: the file is deleted.
  std::optional<bool> executable;  ///< The new mode, where the patch names one.
  std::vector<Hunk> hunks;
};

/// What is wrong, in one line that names file and line.
struct PatchFault {
  std::string text;
};

/// Faults: no file at all, a malformed hunk, binary content, a link or submodule as mode, a path
/// that is absolute, has "..", "." or ".git" as a component, or is longer than 4 KiB.
[[nodiscard]] std::variant<std::vector<FilePatch>, PatchFault> parse_patch(std::string_view diff);

/// One file of the tree that is patched.
struct TreeFile {
  std::string content;
  bool executable = false;
  bool link = false;
};
/// Nothing: there is no such file. Called for every path that the patch names.
using ReadFile = std::function<std::optional<TreeFile>(const std::string& path)>;

/// What the patch makes of the tree. Faults: a file that should or should not be there, a link, a
/// context that differs.
[[nodiscard]] std::variant<TreeChange, PatchFault> apply_patch(const std::vector<FilePatch>& patch,
                                                               const ReadFile& read);

}  // namespace cupel::worker::change
