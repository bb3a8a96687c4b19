/// Which kept seeds have to go. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel::worker::seeds {

struct KeptSeed {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  ///< Time of the last use; any unit, the same for all.
};

struct SeedBounds {
  std::uint64_t bytes_max = 0;
  std::size_t count_max = 0;
};

/// Names to remove, the least recently used first, until what stays is within both bounds. Those
/// used at the same time go by name, so that two workers agree.
[[nodiscard]] std::vector<std::string> seeds_to_evict(std::vector<KeptSeed> kept,
                                                      const SeedBounds& bounds);

}  // namespace cupel::worker::seeds
