/// Reading a unified diff, as git or diff writes it. Pure; what it makes of a tree is the worker's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::text {

struct DiffLine {
  char sign = ' ';   ///< ' ', '-' or '+'.
  std::string text;  ///< With its line end, unless the diff says that there is none.
};

struct Hunk {
  std::size_t old_start = 0;  ///< 1-based, as the header says; 0 = before the first line.
  std::vector<DiffLine> lines;
  int line = 0;  ///< Of its header in the diff, 1-based.
};

/// At least one of: a hunk, a mode, a file that is new or deleted.
struct FileDiff {
  std::string old_path;            ///< Below the root; empty: the file is new.
  std::string new_path;            ///< Empty: the file is deleted.
  std::optional<bool> executable;  ///< The new mode, where the diff names one.
  std::vector<Hunk> hunks;

  [[nodiscard]] const std::string& path() const { return new_path.empty() ? old_path : new_path; }
};

struct DiffFault {
  int line = 0;    ///< 1-based; 0 = the diff as a whole.
  int column = 0;  ///< 1-based, in bytes.
  std::string text;
};

/// The lines of a text, each with its end; the last one may have none.
[[nodiscard]] std::vector<std::string_view> lines_with_ends(std::string_view text);

/// The files of a diff; text around them, such as a mail's, is passed over. Names begin with a/ and
/// b/, or not.
/// Faults: no file at all, one that is named twice, more than 1,000; a hunk that has no file, is
/// malformed, or is not as long as its header says; renames, copies, binary content, diffs of a
/// merge; a link or submodule as mode; a path that is absolute, has "..", "." or ".git" as a
/// component, or is longer than 4 KiB.
[[nodiscard]] std::variant<std::vector<FileDiff>, DiffFault> read_unified_diff(
    std::string_view diff);

}  // namespace cupel::text
