#include "worker/core/seeds/eviction.hpp"

#include <gmock/gmock.h>

namespace cupel::worker::seeds {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<KeptSeed> kKept = {{.name = "new", .bytes = 10, .used = 30},
                                     {.name = "old", .bytes = 20, .used = 10},
                                     {.name = "middle", .bytes = 30, .used = 20}};

TEST(SeedsToEvict, NoneWithinBothBounds) {
  EXPECT_THAT(seeds_to_evict(kKept, {.bytes_max = 60, .count_max = 3}), IsEmpty());
  EXPECT_THAT(seeds_to_evict({}, {.bytes_max = 0, .count_max = 0}), IsEmpty());
}

TEST(SeedsToEvict, TheLeastRecentlyUsedUntilTheBytesFit) {
  EXPECT_THAT(seeds_to_evict(kKept, {.bytes_max = 59, .count_max = 3}), ElementsAre("old"));
  EXPECT_THAT(seeds_to_evict(kKept, {.bytes_max = 39, .count_max = 3}),
              ElementsAre("old", "middle"));
  EXPECT_THAT(seeds_to_evict(kKept, {.bytes_max = 9, .count_max = 3}),
              ElementsAre("old", "middle", "new"));
}

TEST(SeedsToEvict, TheLeastRecentlyUsedUntilTheirNumberFits) {
  EXPECT_THAT(seeds_to_evict(kKept, {.bytes_max = 60, .count_max = 1}),
              ElementsAre("old", "middle"));
}

TEST(SeedsToEvict, OfTheSameTimeByName) {
  EXPECT_THAT(seeds_to_evict({{.name = "b", .bytes = 1, .used = 5},
                              {.name = "a", .bytes = 1, .used = 5},
                              {.name = "c", .bytes = 1, .used = 5}},
                             {.bytes_max = 1, .count_max = 9}),
              ElementsAre("a", "b"));
}

}  // namespace
}  // namespace cupel::worker::seeds
