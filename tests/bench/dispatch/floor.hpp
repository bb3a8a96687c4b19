/// Runs floor_dispatch.cpp, which is a program of its own.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cupel::bench {

struct Floor {
  double tasks_s = 0;
  double cpu_s_per_1k = 0;
  double commits_per_1k = 0;
  double p50_ms = 0;  ///< From submit to start.
  double p99_ms = 0;
  double rss_mb = 0;
};

/// `slots` 0: everything stays queued. `rate`: submits per second; 0 as fast as it goes.
[[nodiscard]] Floor run_floor(const std::filesystem::path& dir, int tasks, std::uint32_t slots,
                              int rate = 0);

}  // namespace cupel::bench
