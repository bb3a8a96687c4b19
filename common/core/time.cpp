#include "common/core/time.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace cupel {

namespace {

void put_digits(char* at, std::size_t digits, std::int64_t number) {
  for (std::size_t i = digits; i-- > 0; number /= 10) at[i] = static_cast<char>('0' + number % 10);
}

// Of any year, and slow.
std::string to_rfc3339_by_library(std::int64_t seconds, std::int64_t micros) {
  const auto posix = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&posix, &parts);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, static_cast<int>(micros));
  return text.data();
}

}  // namespace

std::string to_rfc3339(WallTime time) {
  constexpr std::int64_t kDaySeconds = 86'400;
  constexpr std::int64_t kYear10000Seconds = 253'402'300'800;
  std::int64_t seconds = time.us / 1'000'000;
  std::int64_t micros = time.us % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    seconds -= 1;
  }
  if (seconds < 0 || seconds >= kYear10000Seconds) return to_rfc3339_by_library(seconds, micros);
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(seconds / kDaySeconds)));
  const std::int64_t of_day = seconds % kDaySeconds;
  std::string text = "0000-00-00T00:00:00.000000Z";
  put_digits(&text[0], 4, static_cast<int>(date.year()));
  put_digits(&text[5], 2, static_cast<unsigned>(date.month()));
  put_digits(&text[8], 2, static_cast<unsigned>(date.day()));
  put_digits(&text[11], 2, of_day / 3600);
  put_digits(&text[14], 2, of_day / 60 % 60);
  put_digits(&text[17], 2, of_day % 60);
  put_digits(&text[20], 6, micros);
  return text;
}

namespace {

// Takes exactly `digits` decimal digits and the character behind them (0 = none).
bool take_number(std::string_view& text, std::size_t digits, char follows, int& number) {
  if (text.size() < digits + (follows != 0 ? 1 : 0)) return false;
  const char* const end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || text.front() == '-') return false;
  text.remove_prefix(digits);
  if (follows == 0) return true;
  if (text.front() != follows) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take_number(text, 4, '-', year) || !take_number(text, 2, '-', month) ||
      !take_number(text, 2, 'T', day) || !take_number(text, 2, ':', hour) ||
      !take_number(text, 2, ':', minute) || !take_number(text, 2, 0, second)) {
    return std::nullopt;
  }
  int micros = 0;
  if (text.size() > 2 && text.front() == '.') {
    text.remove_prefix(1);
    const std::size_t digits = text.size() - 1;
    if (digits > 6 || !take_number(text, digits, 0, micros)) return std::nullopt;
    for (std::size_t i = digits; i < 6; ++i) micros *= 10;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (text != "Z" || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto time = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                    std::chrono::minutes(minute) + std::chrono::seconds(second);
  return WallTime{std::chrono::microseconds(time).count() + micros};
}

}  // namespace cupel
