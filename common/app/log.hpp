/// The program's log: one line an event on stderr, as text for people or JSON for machines.
///
/// Everyone logs through spdlog's default logger (`spdlog::info("lease of {} ended",
/// task.text())`), which is thread-safe. Tokens, keys, credentials and foreign output never go into
/// a message.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::app {

enum class LogFormat : std::uint8_t { text, json };
[[nodiscard]] std::optional<LogFormat> parse_log_format(std::string_view text);
/// trace, debug, info, warn, error or off.
[[nodiscard]] bool is_log_level(std::string_view text);

struct LogOptions {
  std::string program;  ///< "cupel-worker"; the `logger` of a JSON line.
  LogFormat format = LogFormat::text;
  std::string level = "info";
};

/// Replaces spdlog's default logger; once, at the start of main. `counted` (may be empty) is told
/// the level name of every line that is written, on the thread that writes it:
/// Metrics::log_counter() fits.
void start_log(const LogOptions& options, std::function<void(std::string_view level)> counted = {});

/// Escapes to the inside of a JSON string; bytes that are no UTF-8 become U+FFFD.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace cupel::app
