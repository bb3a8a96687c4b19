// normalise(): one pass from left to right; at each place the first rule that matches wins.
#include "worker/core/go/text.hpp"

#include <array>

namespace cupel::worker::go {
namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word(char c) {
  return is_decimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool ends_path(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '"' || c == '\'' || c == '`' || c == ':' ||
         c == ')' || c == ']' || c == ',' || c == ';' || c == '>';
}

std::size_t digits(std::string_view text, std::size_t at = 0) {
  std::size_t n = 0;
  while (at + n < text.size() && is_decimal(text[at + n])) ++n;
  return n;
}

bool boundary(std::string_view text, std::size_t at) {
  return at >= text.size() || !is_word(text[at]);
}

/// Length of "0x1a2b?" at the front.
std::size_t address(std::string_view text) {
  if (!text.starts_with("0x")) return 0;
  std::size_t at = 2;
  while (at < text.size() && is_hex(text[at])) ++at;
  if (at == 2 || !boundary(text, at)) return 0;
  if (at < text.size() && text[at] == '?') ++at;
  return at;
}

/// Length of "1h2m3.5s", "20ms", "0.00s" at the front.
std::size_t duration(std::string_view text) {
  constexpr std::array<std::string_view, 8> kUnits = {"ns", "us", "\xC2\xB5s", "\xCE\xBCs",
                                                      "ms", "s",  "m",         "h"};
  std::size_t at = 0;
  while (at < text.size() && is_decimal(text[at])) {
    std::size_t next = at + digits(text, at);
    if (next + 1 < text.size() && text[next] == '.' && is_decimal(text[next + 1])) {
      next += 1 + digits(text, next + 1);
    }
    std::size_t unit = 0;
    for (const std::string_view name : kUnits) {
      if (text.substr(next).starts_with(name) && name.size() > unit) unit = name.size();
    }
    if (unit == 0) return 0;
    at = next + unit;
  }
  return at != 0 && boundary(text, at) ? at : 0;
}

/// Length of a date or a time of day ("2026/11/29", "2026-11-29T16:19:10.5Z", "16:19:10") at the
/// front.
std::size_t time_of(std::string_view text) {
  const auto two = [&](std::size_t at) { return digits(text, at) == 2; };
  const auto clock = [&](std::size_t at) -> std::size_t {
    if (!two(at) || at + 8 > text.size() || text[at + 2] != ':' || !two(at + 3) ||
        text[at + 5] != ':' || !two(at + 6)) {
      return 0;
    }
    std::size_t end = at + 8;
    if (end < text.size() && text[end] == '.') end += 1 + digits(text, end + 1);
    if (end < text.size() && text[end] == 'Z') return end + 1;
    if (end + 6 <= text.size() && (text[end] == '+' || text[end] == '-') && two(end + 1) &&
        text[end + 3] == ':' && two(end + 4)) {
      end += 6;
    }
    return end;
  };
  if (digits(text) == 4 && text.size() >= 10 && (text[4] == '/' || text[4] == '-') && two(5) &&
      text[7] == text[4] && two(8)) {
    if (text.size() > 11 && (text[10] == 'T' || text[10] == ' ')) {
      const std::size_t end = clock(11);
      if (end != 0) return end;
    }
    return boundary(text, 10) ? 10 : 0;
  }
  return clock(0);
}

/// Length of "10.1.2.3" or "10.1.2.3:4567" at the front.
std::size_t ip_address(std::string_view text) {
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t n = digits(text, at);
    if (n == 0 || n > 3) return 0;
    at += n;
    if (part < 3) {
      if (at >= text.size() || text[at] != '.') return 0;
      ++at;
    }
  }
  if (at + 1 < text.size() && text[at] == ':' && is_decimal(text[at + 1])) {
    at += 1 + digits(text, at + 1);
  }
  return boundary(text, at) ? at : 0;
}

/// True when what was written last is the name of a source file, so that ":12" is its line.
bool after_file_name(std::string_view out) {
  for (const std::string_view suffix : {".go", ".s", ".c", ".h", ".cc", ".cpp", ".y", ".mod",
                                        ".sum", ".work", ".proto", ".tmpl", ".rl"}) {
    if (out.ends_with(suffix)) return true;
  }
  return false;
}

class Normaliser {
 public:
  explicit Normaliser(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  std::string run() {
    while (at_ < text_.size()) {
      if (!step()) {
        out_ += text_[at_];
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  bool at_word_start() const { return at_ == 0 || !is_word(text_[at_ - 1]); }

  bool replace(std::size_t length, std::string_view with) {
    if (length == 0) return false;
    out_ += with;
    at_ += length;
    return true;
  }

  bool step() {
    const char c = text_[at_];
    if (c == ':') return line_number();
    if (c == '@') return version();
    if (!at_word_start()) return false;
    if (c == '/' || c == '.') return path();
    if (c == 'g' && rest().starts_with("goroutine ")) return goroutine();
    if (!is_decimal(c)) return false;
    if (replace(address(rest()), "0x?") || replace(time_of(rest()), "<time>") ||
        replace(ip_address(rest()), "<address>")) {
      return true;
    }
    const bool part_of_number = at_ > 0 && text_[at_ - 1] == '.';
    return !part_of_number && replace(duration(rest()), "<duration>");
  }

  bool line_number() {
    const std::size_t n = digits(text_, at_ + 1);
    if (n == 0) return false;
    const bool port = out_.ends_with("localhost") || out_.ends_with(']');
    if (port) return replace(1 + n, ":?");
    if (!after_file_name(out_)) return false;
    at_ += 1 + n;
    if (at_ + 1 < text_.size() && text_[at_] == ':' && is_decimal(text_[at_ + 1])) {
      at_ += 1 + digits(text_, at_ + 1);
    }
    return true;
  }

  /// "module@v1.2.3/file": which version it was is told elsewhere.
  bool version() {
    std::string_view text = rest().substr(1);
    if (text.size() < 2 || text[0] != 'v' || !is_decimal(text[1])) return false;
    std::size_t end = 0;
    while (end < text.size() && text[end] != '/' && !ends_path(text[end])) ++end;
    return end < text.size() && text[end] == '/' && replace(1 + end, "");
  }

  bool path() {
    const std::size_t start = at_;
    std::size_t at = at_;
    while (text_.substr(at).starts_with("../")) at += 3;
    for (const std::string_view mount : {"/src/", "/modcache/", "src/", "modcache/"}) {
      const bool absolute = mount.front() == '/';
      if (absolute == (at == start) && text_.substr(at).starts_with(mount)) {
        at_ = at + mount.size();
        return true;
      }
    }
    if (!rest().starts_with("/tmp/")) return false;
    while (at_ < text_.size() && !ends_path(text_[at_])) {
      const std::size_t n = digits(text_, at_);
      if (n == 0) {
        out_ += text_[at_++];
      } else {
        out_ += '?';
        at_ += n;
      }
    }
    return true;
  }

  bool goroutine() {
    const std::size_t word = std::string_view("goroutine ").size();
    const std::size_t n = digits(text_, at_ + word);
    if (n == 0) return false;
    replace(word + n, "goroutine ?");
    // "[chan receive, 5 minutes]": how long it waited says nothing.
    if (!rest().starts_with(" [")) return true;
    const auto end = rest().find(']');
    const std::string_view state = rest().substr(0, end);
    if (end == std::string_view::npos || state.find('\n') != std::string_view::npos) return true;
    out_ += state.substr(0, state.find(','));
    at_ += end;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string normalise(std::string_view text) {
  return Normaliser(text).run();
}

}  // namespace cupel::worker::go
