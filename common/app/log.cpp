#include "common/app/log.hpp"

#include "common/core/time.hpp"

#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdio>
#include <memory>
#include <utility>

namespace cupel::app {
namespace {

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 for none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  std::size_t length = 1;
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (length == 1 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0U) != 0x80U) return 0;
  }
  const unsigned next = at(1);
  const bool overlong = (lead == 0xe0 && next < 0xa0) || (lead == 0xf0 && next < 0x90);
  const bool surrogate = lead == 0xed && next > 0x9f;
  const bool too_high = lead == 0xf4 && next > 0x8f;
  return overlong || surrogate || too_high ? 0 : length;
}

WallTime wall(spdlog::log_clock::time_point time) {
  return {std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count()};
}

// spdlog's JSON by pattern breaks on quotes and line breaks inside a message.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    std::string line = R"({"ts":")" + to_rfc3339(wall(message.time)) + R"(","level":")";
    const auto level = spdlog::level::to_string_view(message.level);
    line.append(level.data(), level.size());
    line += R"(","logger":")";
    append_json_escaped(line, {message.logger_name.data(), message.logger_name.size()});
    line += R"(","msg":")";
    append_json_escaped(line, {message.payload.data(), message.payload.size()});
    line += "\"}\n";
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

// A line break in foreign text must not look like a second line of the log.
class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    std::string line = to_rfc3339(wall(message.time)) + " ";
    const auto level = spdlog::level::to_string_view(message.level);
    line.append(level.data(), level.size());
    line.append(level.size() < 7 ? 8 - level.size() : 1, ' ');
    for (const char c : std::string_view(message.payload.data(), message.payload.size())) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\n') {
        line += "\n    ";
      } else if (byte < 0x20 || byte == 0x7f) {
        line += '?';
      } else {
        line += c;
      }
    }
    line += '\n';
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

class CountingSink final : public spdlog::sinks::sink {
 public:
  explicit CountingSink(std::function<void(std::string_view)> counted)
      : counted_(std::move(counted)) {}
  void log(const spdlog::details::log_msg& message) override {
    const auto level = spdlog::level::to_string_view(message.level);
    counted_({level.data(), level.size()});
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  std::function<void(std::string_view)> counted_;
};

}  // namespace

std::optional<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return std::nullopt;
}

bool is_log_level(std::string_view text) {
  constexpr std::array kLevels = {"trace", "debug", "info", "warn", "error", "off"};
  for (const std::string_view level : kLevels) {
    if (level == text) return true;
  }
  return false;
}

void append_json_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text.front();
      text.remove_prefix(1);
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      (void)std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      out += escape.data();
      text.remove_prefix(1);
    } else if (const std::size_t length = utf8_length(text); length > 0) {
      out += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      out += "\\ufffd";
      text.remove_prefix(1);
    }
  }
}

void start_log(const LogOptions& options, std::function<void(std::string_view)> counted) {
  auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(options.program, console);
  if (options.format == LogFormat::json) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_formatter(std::make_unique<TextFormatter>());
  }
  if (counted) logger->sinks().push_back(std::make_shared<CountingSink>(std::move(counted)));
  logger->set_level(spdlog::level::from_str(options.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace cupel::app
