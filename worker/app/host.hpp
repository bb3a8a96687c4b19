/// What the host offers: how many tasks at once, and how much room is left.
#pragma once

#include "common/core/settings.hpp"

#include <cstdint>

namespace cupel::worker {

struct HostFacts {
  std::uint32_t cores = 1;
  std::uint64_t memory_bytes = 0;
};

/// From the kernel: cores that this process may use, physical memory.
[[nodiscard]] HostFacts read_host_facts();

/// Slots for a host when none are configured: one for every two cores and no more than its memory
/// carries with the default limits, at least one. Pure.
[[nodiscard]] std::uint32_t default_slots(const HostFacts& host, const RunLimits& limits);

}  // namespace cupel::worker
