#include "common/core/time.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace cupel {

std::string to_rfc3339(WallTime time) {
  std::int64_t seconds = time.us / 1'000'000;
  std::int64_t micros = time.us % 1'000'000;
  if (micros < 0) {
    micros += 1'000'000;
    seconds -= 1;
  }
  const auto posix = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&posix, &parts);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(micros));
  return text.data();
}

}  // namespace cupel
