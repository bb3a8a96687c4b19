#include "worker/core/go/text.hpp"

#include "common/core/limits.hpp"

#include <algorithm>
#include <charconv>

namespace cupel::worker::go {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length of the valid UTF-8 sequence at the front of `text` (RFC 3629), 0 where there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const auto tail = [&](std::size_t i, unsigned char low = 0x80, unsigned char high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned char low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned char low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

/// Bytes of the terminal escape at the front of `text` (which begins with ESC).
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return 1;
  if (text[1] == '[') {  // CSI: parameters, then one final byte
    std::size_t i = 2;
    while (i < text.size() && text[i] >= 0x20 && text[i] <= 0x3F) ++i;
    return std::min(i + 1, text.size());
  }
  if (text[1] == ']') {  // OSC: up to BEL or ESC backslash, on this line
    for (std::size_t i = 2; i < text.size() && text[i] != '\n'; ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b') return std::min(i + 2, text.size());
    }
  }
  return 2;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) {
      out += kReplacement;
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && is_continuation(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

std::string clean(std::string_view bytes, std::size_t bytes_max) {
  std::string out;
  std::size_t line_start = 0;
  while (!bytes.empty() && out.size() <= bytes_max) {
    const char c = bytes.front();
    const std::size_t length = sequence_length(bytes);
    if (c == '\x1b') {
      bytes.remove_prefix(std::min(escape_length(bytes), bytes.size()));
      continue;
    }
    if (c == '\r') {  // A progress line that is written over; CRLF is just a line end.
      if (bytes.size() > 1 && bytes[1] != '\n' && bytes[1] != '\r') out.resize(line_start);
    } else if (c == '\n') {
      out += c;
      line_start = out.size();
    } else if (c == '\0' || length == 0) {
      out += kReplacement;
    } else if (static_cast<unsigned char>(c) >= 0x20 ? c != 0x7F : c == '\t') {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out.resize(cut(out, bytes_max).size());
  return out;
}

std::string clean_name(std::string_view bytes) {
  std::string out = to_utf8(bytes.substr(0, std::min(bytes.size(), kNameBytesMax + 4)));
  for (std::size_t at = out.find('\0'); at != std::string::npos; at = out.find('\0', at)) {
    out.replace(at, 1, kReplacement);
  }
  out.resize(cut(out, kNameBytesMax).size());
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view first_line_said(std::string_view text) {
  text = trim(text);
  return text.substr(0, text.find('\n'));
}

bool says_no_space(std::string_view text) {
  constexpr std::string_view kWords = "o space left on device";
  for (auto at = text.find(kWords); at != std::string_view::npos; at = text.find(kWords, at + 1)) {
    if (at == 0 || (text[at - 1] != 'n' && text[at - 1] != 'N')) continue;
    const char before = at == 1 ? ' ' : text[at - 2];
    if (before != '"' && before != '\'' && before != '`') return true;
  }
  return false;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

Position split_position(std::string_view line) {
  Position position{.file = {}, .rest = line};
  // The file ends before the first ":<digits>" that follows a character; Go sources have no colon
  // in their names.
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > kNameBytesMax) return position;
  const auto number = [&](std::size_t at, int& value) -> std::size_t {
    const char* begin = line.data() + at;
    const char* end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || value < 0) return 0;
    return static_cast<std::size_t>(stop - line.data());
  };
  int first = 0;
  if (colon + 1 >= line.size() || !is_digit(line[colon + 1])) return position;
  std::size_t at = number(colon + 1, first);
  if (at == 0) return position;
  int second = 0;
  if (at + 1 < line.size() && line[at] == ':' && is_digit(line[at + 1])) {
    const std::size_t next = number(at + 1, second);
    if (next != 0) at = next;
  }
  if (at < line.size() && line[at] != ':') return position;
  position.file = line.substr(0, colon);
  position.line = first;
  position.column = second;
  position.rest = at < line.size() ? trim(line.substr(at + 1)) : std::string_view{};
  return position;
}

std::string source_path(std::string_view path, std::string_view unit_dir) {
  if (path.starts_with("./")) path.remove_prefix(2);
  const auto modcache = path.find("modcache/");
  if (modcache != std::string_view::npos) {
    return std::string(path.substr(modcache + std::string_view("modcache/").size()));
  }
  if (!path.starts_with("/src/")) return std::string(path);
  path.remove_prefix(std::string_view("/src/").size());
  if (!unit_dir.empty() && unit_dir != "." && path.starts_with(unit_dir) &&
      path.size() > unit_dir.size() && path[unit_dir.size()] == '/') {
    path.remove_prefix(unit_dir.size() + 1);
  }
  return std::string(path);
}

}  // namespace cupel::worker::go
