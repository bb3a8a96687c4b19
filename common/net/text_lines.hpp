/// Private to common/net: lines of words with their places, as key files and trust lists have them.
/// A '#' at the start of a word begins a comment.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::net {

struct Word {
  std::string_view text;
  std::size_t column = 0;  ///< 1-based, in bytes.
};

struct Line {
  std::size_t number = 0;  ///< 1-based.
  std::string_view text;   ///< As it stands, without the end of line.
  std::vector<Word> words;
};

[[nodiscard]] inline std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Line line{.number = lines.size() + 1, .text = text.substr(0, end), .words = {}};
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    constexpr std::string_view kSpaces = " \t\r";
    std::size_t at = line.text.find_first_not_of(kSpaces);
    while (at != std::string_view::npos && line.text[at] != '#') {
      const std::size_t stop = line.text.find_first_of(kSpaces, at);
      line.words.push_back({line.text.substr(at, stop - at), at + 1});
      at = line.text.find_first_not_of(kSpaces, stop);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

[[nodiscard]] inline std::string place(std::string_view file, std::size_t line,
                                       std::size_t column) {
  return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace cupel::net
