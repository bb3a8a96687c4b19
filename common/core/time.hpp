/// Time as values. Core code never asks for the time: it is handed it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel {

using Duration = std::chrono::nanoseconds;
/// Monotonic; for leases, budgets and ages inside one process.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
/// Microseconds since 1970-01-01 UTC; for records, never for deadlines.
struct WallTime {
  std::int64_t us = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

/// "2026-11-29T16:02:11.123456Z"
[[nodiscard]] std::string to_rfc3339(WallTime time);
/// The form that to_rfc3339 writes; the fraction may have 0 to 6 digits. UTC ("Z") only.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace cupel
