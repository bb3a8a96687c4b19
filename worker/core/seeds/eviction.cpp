#include "worker/core/seeds/eviction.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cupel::worker::seeds {

std::vector<std::string> seeds_to_evict(std::vector<KeptSeed> kept, const SeedBounds& bounds) {
  std::ranges::sort(kept, {}, [](const KeptSeed& seed) { return std::tie(seed.used, seed.name); });
  std::uint64_t bytes =
      std::accumulate(kept.begin(), kept.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const KeptSeed& seed) { return sum + seed.bytes; });
  std::size_t count = kept.size();
  std::vector<std::string> gone;
  for (KeptSeed& seed : kept) {
    if (bytes <= bounds.bytes_max && count <= bounds.count_max) break;
    bytes -= seed.bytes;
    --count;
    gone.push_back(std::move(seed.name));
  }
  return gone;
}

}  // namespace cupel::worker::seeds
