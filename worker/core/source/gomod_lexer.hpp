/// Words and lines of go.mod and go.work. Pure; for gomod.cpp.
#pragma once

#include "worker/core/source/gomod.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::mod {

struct Word {
  std::string text;
  ModPlace place;
};

/// One logical line: its words and the comment behind them.
struct Line {
  std::vector<Word> words;
  std::string comment;
  ModPlace place;
};

[[nodiscard]] inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Splits the text into lines of words. Quoted strings may use "" or `` and are unquoted.
class ModLexer {
 public:
  explicit ModLexer(std::string_view text) : text_(text) {}

  /// False at the end. On a fault the rest of the line is dropped.
  bool next(Line& line, std::vector<ModFault>& faults);

 private:
  static constexpr std::size_t kWordsMax = 1000;

  [[nodiscard]] ModPlace here() const;
  void new_line();
  void skip_line();
  std::string read_comment();
  void read_word(Line& line, std::vector<ModFault>& faults);
  [[nodiscard]] bool ends_word() const;
  bool read_quoted(char quote, std::string& out);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::int32_t line_ = 1;
};

}  // namespace cupel::worker::mod
