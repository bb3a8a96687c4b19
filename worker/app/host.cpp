#include "worker/app/host.hpp"

#include <algorithm>
#include <sched.h>
#include <unistd.h>

namespace cupel::worker {

HostFacts read_host_facts() {
  HostFacts facts;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    facts.cores = static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    facts.memory_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  return facts;
}

std::uint32_t default_slots(const HostFacts& host, const RunLimits& limits) {
  const std::uint64_t by_cores =
      std::max<std::uint64_t>(1, host.cores * 1000ULL / std::max(1U, limits.cpu_millis));
  // A tenth of the memory stays with the engine and the worker itself.
  const std::uint64_t usable = host.memory_bytes - host.memory_bytes / 10;
  const std::uint64_t by_memory =
      limits.memory_bytes == 0 ? by_cores : usable / limits.memory_bytes;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min(by_cores, by_memory), 1, 256));
}

}  // namespace cupel::worker
