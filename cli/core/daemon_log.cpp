#include "cli/core/daemon_log.hpp"

#include <algorithm>
#include <charconv>

namespace cupel::cli {
namespace {

struct LogEntry {
  std::string_view level;
  std::string_view text;
};

/// "2026-11-30T00:02:01.451325Z error   text"; nothing for a line that continues an entry.
std::optional<LogEntry> entry_of(std::string_view line) {
  const std::size_t time_end = line.find(' ');
  if (time_end == std::string_view::npos || time_end < 20 || line[time_end - 1] != 'Z' ||
      line[4] != '-' || line[10] != 'T')
    return std::nullopt;
  const std::size_t level_end = line.find(' ', time_end + 1);
  if (level_end == std::string_view::npos) return std::nullopt;
  const std::size_t text = line.find_first_not_of(' ', level_end);
  return LogEntry{line.substr(time_end + 1, level_end - time_end - 1),
                  text == std::string_view::npos ? "" : line.substr(text)};
}

bool is_warning(std::string_view level) {
  return level == "warn" || level == "warning";
}
bool is_error(std::string_view level) {
  return level == "error" || level == "critical";
}

}  // namespace

std::optional<Trouble> newest_trouble(std::string_view log) {
  std::optional<Trouble> found;
  bool inside = false;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const auto entry = entry_of(line)) {
      inside = is_warning(entry->level) || is_error(entry->level);
      if (inside) found = Trouble{std::string(entry->text), is_error(entry->level)};
    } else if (inside && !line.empty()) {
      const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
      found->text += "\n" + std::string(line.substr(text));
    }
  }
  return found;
}

std::optional<Errc> code_named_in(std::string_view text) {
  constexpr std::string_view kTag = "CUP-";
  for (std::size_t at = text.find(kTag); at != std::string_view::npos; at = text.find(kTag, at)) {
    at += kTag.size();
    unsigned number = 0;
    const auto digits = text.substr(at, 4);
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (ec != std::errc() || end != digits.data() + 4) continue;
    for (const ErrorInfo& info : error_registry()) {
      if (static_cast<unsigned>(info.code) == number) return info.code;
    }
  }
  return std::nullopt;
}

}  // namespace cupel::cli
