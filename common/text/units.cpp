#include "common/text/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace cupel::text {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> kSizes = {
    {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kTimes = {
    {{"d", 86'400'000'000'000},
     {"h", 3'600'000'000'000},
     {"m", 60'000'000'000},
     {"s", 1'000'000'000},
     {"ms", 1'000'000}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_fraction(std::string_view text) {
  if (text.empty() || text.size() > 24 || !is_digit(text.front()) || !is_digit(text.back())) {
    return std::nullopt;
  }
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view unit = digits == std::string_view::npos ? "B" : text.substr(digits);
  const auto number = parse_fraction(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const auto& [name, factor] : kSizes) {
    if (unit != name) continue;
    const double bytes = *number * static_cast<double>(factor);
    if (bytes > 9e15 || bytes != std::floor(bytes)) return std::nullopt;  // exact in a double
    return static_cast<std::uint64_t>(bytes);
  }
  return std::nullopt;
}

std::optional<nanoseconds> parse_duration(std::string_view text) {
  if (text == "0") return nanoseconds{0};
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::int64_t last_factor = INT64_MAX;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    const auto number = parse_integer(text.substr(0, digits));
    text.remove_prefix(digits);
    std::size_t letters = 0;
    while (letters < text.size() && !is_digit(text[letters])) ++letters;
    const std::string_view unit = text.substr(0, letters);
    text.remove_prefix(letters);
    std::int64_t factor = 0;
    for (const auto& [name, value] : kTimes) {
      if (unit == name) factor = value;
    }
    if (!number || factor == 0 || factor >= last_factor) return std::nullopt;
    last_factor = factor;
    std::int64_t part = 0;
    if (__builtin_mul_overflow(*number, factor, &part)) return std::nullopt;
    if (__builtin_add_overflow(total, part, &total)) return std::nullopt;
  }
  return nanoseconds{total};
}

std::string format_size(std::uint64_t bytes) {
  for (const auto& [name, factor] : kSizes) {
    if (bytes != 0 && bytes % factor == 0) {
      return std::to_string(bytes / factor) + std::string(name);
    }
  }
  return "0B";
}

std::string format_duration(nanoseconds duration) {
  std::int64_t left = duration.count();
  std::string out;
  for (const auto& [name, factor] : kTimes) {
    if (left < factor || name == "d") continue;
    out += std::to_string(left / factor) + std::string(name);
    left %= factor;
  }
  return out.empty() ? "0s" : out;
}

std::string format_seconds(double seconds) {
  if (!(seconds >= 0)) return "–";
  std::array<char, 32> text{};
  if (seconds < 59.95) {
    std::snprintf(text.data(), text.size(), "%.1fs", seconds);
    return text.data();
  }
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) {
    std::snprintf(text.data(), text.size(), "%lldm%02llds", whole / 60, whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lldh%02lldm", whole / 3600, whole % 3600 / 60);
  }
  return text.data();
}

}  // namespace cupel::text
