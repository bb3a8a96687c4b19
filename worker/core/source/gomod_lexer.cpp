#include "worker/core/source/gomod_lexer.hpp"

#include <algorithm>
#include <utility>

namespace cupel::worker::mod {
namespace {

bool is_break(char c) {
  return c == '\n';
}

}  // namespace

bool ModLexer::next(Line& line, std::vector<ModFault>& faults) {
  line = {};
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is_break(c)) {
      ++at_;
      const bool ended = !line.words.empty();
      new_line();
      if (ended) return true;
      line = {};
    } else if (is_blank(c)) {
      ++at_;
    } else if (text_.substr(at_).starts_with("//")) {
      line.comment = read_comment();
    } else {
      read_word(line, faults);
      if (line.words.size() > kWordsMax)
        faults.push_back({line.place, "too many words"}), skip_line();
    }
  }
  return !line.words.empty();
}

ModPlace ModLexer::here() const {
  return {line_, static_cast<std::int32_t>(at_ - line_start_) + 1};
}

void ModLexer::new_line() {
  ++line_;
  line_start_ = at_;
}

void ModLexer::skip_line() {
  while (at_ < text_.size() && !is_break(text_[at_])) ++at_;
}

std::string ModLexer::read_comment() {
  const auto start = at_ + 2;
  skip_line();
  std::string comment{text_.substr(start, at_ - start)};
  while (!comment.empty() && is_blank(comment.back())) comment.pop_back();
  comment.erase(0, std::min(comment.find_first_not_of(" \t"), comment.size()));
  return comment;
}

void ModLexer::read_word(Line& line, std::vector<ModFault>& faults) {
  Word word{{}, here()};
  if (line.words.empty()) line.place = word.place;
  const char c = text_[at_];
  if (c == '"' || c == '`') {
    if (!read_quoted(c, word.text)) {
      faults.push_back({word.place, "unexpected newline in string"});
      skip_line();
      return;
    }
  } else if (c == '(' || c == ')' || c == ',' || c == '[' || c == ']') {
    word.text = c;
    ++at_;
  } else if (text_.substr(at_).starts_with("=>")) {
    word.text = "=>";
    at_ += 2;
  } else if (text_.substr(at_).starts_with("\xef\xbb\xbf")) {
    faults.push_back({word.place, "unexpected input character '\\ufeff'"});
    skip_line();
    return;
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    faults.push_back({word.place, "unexpected input character"});
    skip_line();
    return;
  } else {
    while (at_ < text_.size() && !ends_word()) word.text += text_[at_++];
  }
  line.words.push_back(std::move(word));
}

bool ModLexer::ends_word() const {
  const char c = text_[at_];
  return is_break(c) || is_blank(c) || c == '(' || c == ')' || c == ',' || c == '[' || c == ']' ||
         c == '"' || c == '`' || text_.substr(at_).starts_with("//");
}

bool ModLexer::read_quoted(char quote, std::string& out) {
  for (++at_; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == quote) {
      ++at_;
      return true;
    }
    if (is_break(c)) {
      if (quote == '"') return false;
      ++line_;
      line_start_ = at_ + 1;
    }
    if (c == '\\' && quote == '"') {
      ++at_;
      if (at_ >= text_.size() || is_break(text_[at_])) return false;
      c = text_[at_];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    out += c;
  }
  return false;
}

}  // namespace cupel::worker::mod
