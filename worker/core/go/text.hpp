/// Foreign text made safe to store, and made equal where it means the same. Pure; every function is
/// linear in its input and takes any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::go {

/// Valid UTF-8: every byte that is none becomes U+FFFD, as Go's own encoder does it.
[[nodiscard]] std::string to_utf8(std::string_view bytes);

/// For messages: valid UTF-8, NUL as U+FFFD, without terminal escapes, overwritten progress and
/// other control characters (line feed and tab stay), cut to `bytes_max` on a character boundary.
[[nodiscard]] std::string clean(std::string_view bytes, std::size_t bytes_max);

/// Names and import paths: valid UTF-8 without NUL, cut to kNameBytesMax.
[[nodiscard]] std::string clean_name(std::string_view bytes);

/// Cuts on a UTF-8 boundary.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t bytes_max);

[[nodiscard]] std::string_view trim(std::string_view text);
/// The first line that isn't blank, trimmed at its front.
[[nodiscard]] std::string_view first_line_said(std::string_view text);

[[nodiscard]] inline bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// A program says that a disk is full, in Go's words or the C library's. In quotes it says what it
/// wanted to see.
[[nodiscard]] bool says_no_space(std::string_view text);

/// Lines without their ends (LF or CRLF); no empty last line.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// The text without what differs from run to run and from machine to machine: line and column
/// numbers, addresses, goroutine numbers, durations, times, temporary names, IP addresses and
/// ports, the mounts' prefixes and the versions in module cache paths.
[[nodiscard]] std::string normalise(std::string_view text);

/// A file as a tool named it (absolute, relative, in the module cache) as a path below the unit's
/// directory; paths elsewhere keep what follows the mount.
[[nodiscard]] std::string source_path(std::string_view path, std::string_view unit_dir);

/// "file.go:12:34: message" taken apart; `file` is empty where the line has no such beginning.
struct Position {
  std::string_view file;
  int line = 0;
  int column = 0;
  std::string_view rest;
};
[[nodiscard]] Position split_position(std::string_view line);

}  // namespace cupel::worker::go
