/// The clocks of adapters and apps. Core code is handed its times.
#pragma once

#include "common/core/time.hpp"

#include <chrono>

namespace cupel::async {

[[nodiscard]] inline TimePoint monotonic_now() {
  return std::chrono::steady_clock::now();
}

[[nodiscard]] inline WallTime wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

}  // namespace cupel::async
