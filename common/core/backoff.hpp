/// Delay before another try, from a random value that the caller supplies.
#pragma once

#include "common/core/time.hpp"

#include <algorithm>
#include <cstdint>

namespace cupel {

/// Doubles from `first` (attempt 0) up to `max`, and picks from the upper half of it, so that a
/// fleet that was cut off together doesn't come back together.
[[nodiscard]] inline Duration backoff_delay(std::uint32_t attempt, Duration first, Duration max,
                                            std::uint64_t random) {
  Duration full = std::min(first, max);
  for (std::uint32_t i = 0; i < attempt && full < max; ++i) full = std::min(full * 2, max);
  const auto half = static_cast<std::uint64_t>(full.count()) / 2;
  return Duration(static_cast<std::int64_t>(half + (half == 0 ? 0 : random % half)));
}

}  // namespace cupel
