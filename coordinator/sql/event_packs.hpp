/// Events as rows: those of one commit and one campaign share a row. Pure; internal to
/// coordinator/sql.
#pragma once

#include "coordinator/ports/store.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator::sql {

/// Events `first` to `last`, without a gap.
struct EventPack {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  CampaignId campaign;
  std::string body;  ///< A line for each event: "TIME_US TYPE BODY".
  WallTime at;       ///< Of the newest event.
};

/// What a reader unpacks at once stays small.
inline constexpr std::size_t kPackEventsMax = 64;
inline constexpr std::size_t kPackBytesMax = 32 * 1024;

/// Numbers a batch's events from `next` on, which it moves, and gives their rows. A campaign's
/// events keep their order; between campaigns there is none to keep.
[[nodiscard]] std::vector<EventPack> pack_events(std::vector<EventAppended> events,
                                                 std::uint64_t& next,
                                                 std::vector<EventRow>& numbered);

/// Appends the pack's events after number `after`. Errors: a body that is no pack, with its number.
[[nodiscard]] Result<void> unpack_events(const EventPack& pack, std::uint64_t after,
                                         std::vector<EventRow>& into);

}  // namespace cupel::coordinator::sql
