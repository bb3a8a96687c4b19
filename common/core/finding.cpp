#include "common/core/finding.hpp"

#include <algorithm>
#include <cctype>

namespace cupel {
namespace {

constexpr std::size_t kLinesMax = 20;  ///< Looked at; a trace may be long.
constexpr std::size_t kJoinedMax = 4;

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const auto begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

/// "dir/file.go:12": a frame of a trace.
bool is_place(std::string_view line) {
  const auto colon = line.rfind(".go:");
  if (colon == std::string_view::npos || line.find(' ') != std::string_view::npos) return false;
  return std::ranges::all_of(line.substr(colon + 4),
                             [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The labels of testify's messages: the trace says nothing, the error is what follows.
std::string_view without_label(std::string_view line) {
  if (line.starts_with("Error Trace:")) return {};
  constexpr std::string_view kError = "Error:";
  return line.starts_with(kError) ? trimmed(line.substr(kError.size())) : line;
}

}  // namespace

std::string headline_of(std::string_view message) {
  std::string out;
  std::size_t joined = 0;
  for (std::size_t seen = 0; seen < kLinesMax && !message.empty(); ++seen) {
    const auto end = std::min(message.find('\n'), message.size());
    const std::string_view whole = trimmed(message.substr(0, end));
    message.remove_prefix(std::min(end + 1, message.size()));
    const std::string_view line = without_label(whole);
    if (line.empty() || (!out.empty() && is_place(line))) continue;
    if (!out.empty()) out += ' ';
    out += line;
    if (!line.ends_with(':') || ++joined == kJoinedMax) break;
  }
  return out;
}

}  // namespace cupel
