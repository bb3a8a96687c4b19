/// Which of several coordinators a worker speaks with, without I/O.
///
/// At most one of them leads. A worker stays where it has a session, and otherwise goes round: from
/// one that turns it away at once, from one that says nothing after a while.
///
/// Pure: no clock, no randomness (a random value is handed in). Single-threaded.
#pragma once

#include "common/core/time.hpp"

#include <cstddef>
#include <cstdint>

namespace cupel::worker {

struct CoordinatorsSettings {
  std::size_t count = 1;  ///< With one there is nowhere to go.
  /// Without a session; grows by half with each round that brought none, up to patience_max.
  Duration patience = std::chrono::milliseconds(1'000);
  Duration patience_max = std::chrono::milliseconds(6'000);
  Duration pause = std::chrono::milliseconds(500);  ///< After all have turned it away.
  std::uint64_t random = 0;                         ///< Spreads a fleet; any value.
};

class Coordinators {
 public:
  explicit Coordinators(CoordinatorsSettings settings, TimePoint now);

  /// Index of the one it speaks with.
  [[nodiscard]] std::size_t current() const { return current_; }
  /// The current one says that it doesn't lead.
  void turned_away(TimePoint now);
  /// At least every 200 ms. True: go to current() now, which is another one.
  [[nodiscard]] bool tick(bool in_session, TimePoint now);

 private:
  [[nodiscard]] Duration spread(Duration duration);

  CoordinatorsSettings settings_;
  std::size_t current_ = 0;
  std::size_t fruitless_ = 0;  ///< Visits in a row without a session.
  TimePoint leave_at_;
};

}  // namespace cupel::worker
