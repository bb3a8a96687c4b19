#include "tests/engine_scenarios/reader.hpp"

#include <algorithm>
#include <charconv>

namespace cupel::scenarios {

namespace {

using text::Node;

constexpr std::size_t kBytesMax = std::size_t{8} << 20U;
constexpr std::size_t kFaultsMax = 50;

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0) return std::nullopt;
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  if (high >= 0) return std::nullopt;
  return bytes;
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

/// The first placeholder of a text that nobody knows; empty when all are known.
std::string unknown_placeholder(std::string_view text) {
  for (std::size_t at = text.find("${"); at != std::string_view::npos;
       at = text.find("${", at + 2)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) return std::string(text.substr(at, 16));
    const std::string name(text.substr(at + 2, end - at - 2));
    if (!has(placeholders(), name)) return "${" + name + "}";
  }
  return {};
}

}  // namespace

const std::vector<std::string>& placeholders() {
  static const std::vector<std::string> kNames = {"id", "name", "run", "nonce", "start", "end"};
  return kNames;
}

std::optional<Duration> parse_time(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = whole_number<std::int64_t>(text.substr(0, digits));
  if (!number || *number > 1'000'000'000) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  Duration time{};
  if (unit == "ms") {
    time = std::chrono::milliseconds(*number);
  } else if (unit == "s") {
    time = std::chrono::seconds(*number);
  } else if (unit == "m") {
    time = std::chrono::minutes(*number);
  } else if (unit == "h") {
    time = std::chrono::hours(*number);
  } else {
    return std::nullopt;
  }
  return negative ? -time : time;
}

void Reader::fault(const Node& at, std::string message, std::string hint) {
  if (faults_.size() >= kFaultsMax) return;
  faults_.push_back({.file = file_,
                     .line = at.line,
                     .column = at.column,
                     .code = Errc::bad_value,
                     .message = std::move(message),
                     .hint = std::move(hint)});
}

bool Reader::keys(const Node& node, const std::string& what,
                  const std::vector<std::string>& known) {
  if (!node.is_map()) {
    fault(node, what + ": must be a map of " + joined(known));
    return false;
  }
  bool clean = true;
  for (const text::Entry& entry : node.entries) {
    if (has(known, entry.key)) continue;
    clean = false;
    const std::string near = text::nearest_word(entry.key, known);
    if (faults_.size() < kFaultsMax) {
      faults_.push_back(
          {.file = file_,
           .line = entry.line,
           .column = entry.column,
           .code = Errc::unknown_key,
           .message = what + ": unknown key '" + entry.key + "'",
           .hint = near.empty() ? "known: " + joined(known) : "did you mean '" + near + "'?"});
    }
  }
  return clean;
}

bool Reader::keys(const Node& node, const std::string& what,
                  std::initializer_list<std::string_view> known) {
  return keys(node, what, std::vector<std::string>(known.begin(), known.end()));
}

std::string Reader::as_text(const Node& node, const std::string& what) {
  if (node.is_scalar()) return node.scalar;
  fault(node, what + ": must be text");
  return {};
}

std::uint64_t Reader::as_number(const Node& node, const std::string& what, std::uint64_t most) {
  const auto number = node.is_scalar() ? whole_number<std::uint64_t>(node.scalar) : std::nullopt;
  if (number && *number <= most) return *number;
  fault(node, what + ": must be a whole number from 0 to " + std::to_string(most));
  return 0;
}

Duration Reader::as_time(const Node& node, const std::string& what) {
  if (const auto time = node.is_scalar() ? parse_time(node.scalar) : std::nullopt) {
    return *time * slower_;
  }
  fault(node, what + ": must be a time such as 250ms, 2s, 1m or 1h");
  return {};
}

std::string Reader::as_bytes(const Node& node, const std::string& what) {
  std::string all;
  if (node.is_scalar()) {
    all = node.scalar;
    if (const std::string odd = unknown_placeholder(all); !odd.empty()) {
      fault(node, what + ": unknown placeholder " + odd, "known: " + joined(placeholders()));
    }
  } else if (node.is_list()) {
    for (const Node& item : node.items) all += as_bytes(item, what);
  } else if (node.is_map() && node.find("hex") != nullptr) {
    if (!keys(node, what, {"hex"})) return {};
    const auto bytes = from_hex(as_text(*node.find("hex"), what + ".hex"));
    if (!bytes) fault(*node.find("hex"), what + ".hex: must be pairs of hex digits");
    all = bytes.value_or(std::string());
  } else if (node.is_map() && node.find("repeat") != nullptr) {
    if (!keys(node, what, {"repeat", "times"})) return {};
    const std::string piece = as_bytes(*node.find("repeat"), what + ".repeat");
    const Node* const times = node.find("times");
    if (times == nullptr) {
      fault(node, what + ": 'repeat' needs 'times'");
      return {};
    }
    const std::uint64_t count = as_number(*times, what + ".times", kBytesMax);
    if (piece.size() * count > kBytesMax) {
      fault(node, what + ": longer than 8 MiB");
      return {};
    }
    for (std::uint64_t i = 0; i < count; ++i) all += piece;
  } else {
    fault(node, what + ": must be text, {hex: ...}, {repeat: ..., times: ...} or a list of these");
  }
  if (all.size() > kBytesMax) fault(node, what + ": longer than 8 MiB");
  return all;
}

std::vector<std::string> Reader::as_texts(const Node& node, const std::string& what) {
  if (node.is_scalar()) return {node.scalar};
  std::vector<std::string> all;
  if (!node.is_list()) fault(node, what + ": must be a text or a list of texts");
  for (const Node& item : node.items) all.push_back(as_text(item, what));
  return all;
}

void Reader::text(const Node& map, std::string_view key, std::string& out) {
  if (const Node* const node = map.find(key)) out = as_text(*node, std::string(key));
}
void Reader::number(const Node& map, std::string_view key, std::uint64_t& out, std::uint64_t most) {
  if (const Node* const node = map.find(key)) out = as_number(*node, std::string(key), most);
}
void Reader::number(const Node& map, std::string_view key, std::int64_t& out) {
  const Node* const node = map.find(key);
  if (node == nullptr) return;
  const auto number = node->is_scalar() ? whole_number<std::int64_t>(node->scalar) : std::nullopt;
  if (!number) fault(*node, std::string(key) + ": must be a whole number");
  out = number.value_or(0);
}
void Reader::flag(const Node& map, std::string_view key, bool& out) {
  const Node* const node = map.find(key);
  if (node == nullptr) return;
  if (!node->is_scalar() || (node->scalar != "true" && node->scalar != "false")) {
    fault(*node, std::string(key) + ": must be true or false");
    return;
  }
  out = node->scalar == "true";
}
void Reader::time(const Node& map, std::string_view key, Duration& out) {
  if (const Node* const node = map.find(key)) out = as_time(*node, std::string(key));
}
void Reader::bytes(const Node& map, std::string_view key, std::string& out) {
  if (const Node* const node = map.find(key)) out = as_bytes(*node, std::string(key));
}
void Reader::word(const Node& map, std::string_view key, std::string& out,
                  std::initializer_list<std::string_view> known) {
  const Node* const node = map.find(key);
  if (node == nullptr) return;
  const std::string word = as_text(*node, std::string(key));
  if (std::ranges::find(known, word) != known.end()) {
    out = word;
  } else if (node->is_scalar()) {
    fault(*node, std::string(key) + ": unknown word '" + word + "'",
          "known: " + joined(std::vector<std::string>(known.begin(), known.end())));
  }
}

}  // namespace cupel::scenarios
