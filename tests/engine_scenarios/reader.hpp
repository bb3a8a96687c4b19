/// Reads values of a document and collects what is wrong with them, each with its place.
#pragma once

#include "common/core/time.hpp"
#include "common/text/document.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::scenarios {

class Reader {
 public:
  /// Every time of the file is taken `slower` times as long.
  Reader(std::string file, unsigned slower) : file_(std::move(file)), slower_(slower) {}

  void fault(const text::Node& at, std::string message, std::string hint = {});
  /// A map with no other keys than these; false otherwise (and said).
  bool keys(const text::Node& node, const std::string& what,
            std::initializer_list<std::string_view> known);
  bool keys(const text::Node& node, const std::string& what, const std::vector<std::string>& known);

  // Each leaves `out` as it is where the key is absent, and says what is wrong with a value.
  void text(const text::Node& map, std::string_view key, std::string& out);
  void number(const text::Node& map, std::string_view key, std::uint64_t& out, std::uint64_t most);
  void number(const text::Node& map, std::string_view key, std::int64_t& out);
  void flag(const text::Node& map, std::string_view key, bool& out);
  void time(const text::Node& map, std::string_view key, Duration& out);
  void bytes(const text::Node& map, std::string_view key, std::string& out);
  void word(const text::Node& map, std::string_view key, std::string& out,
            std::initializer_list<std::string_view> known);

  [[nodiscard]] std::string as_text(const text::Node& node, const std::string& what);
  [[nodiscard]] std::uint64_t as_number(const text::Node& node, const std::string& what,
                                        std::uint64_t most);
  [[nodiscard]] Duration as_time(const text::Node& node, const std::string& what);
  /// Text, {hex: ...}, {repeat: ..., times: N}, or a list of these.
  [[nodiscard]] std::string as_bytes(const text::Node& node, const std::string& what);
  /// Text as a list of text, or one text.
  [[nodiscard]] std::vector<std::string> as_texts(const text::Node& node, const std::string& what);

  [[nodiscard]] std::vector<text::Diagnostic> take() { return std::move(faults_); }
  [[nodiscard]] unsigned slower() const { return slower_; }
  [[nodiscard]] bool clean() const { return faults_.empty(); }

 private:
  std::string file_;
  unsigned slower_;
  std::vector<text::Diagnostic> faults_;
};

/// "250ms", "2s", "1m", "1h", "-5m"; nothing for anything else.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);

/// Placeholders that a text may hold, without the braces.
[[nodiscard]] const std::vector<std::string>& placeholders();

}  // namespace cupel::scenarios
