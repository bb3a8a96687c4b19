/// Which of several coordinators a worker speaks with, without I/O.
///
/// At most one of them leads. A worker stays where it has a session, and otherwise goes round: from
/// one that turns it away at once, from one that says nothing after a while. From an only one that
/// says nothing it goes to the same one, over a new connection and with its name looked up again:
/// TCP itself may notice a minute late that nobody is at the other end any more.
///
/// Pure: no clock, no randomness (a random value is handed in). Single-threaded.
#pragma once

#include "common/core/time.hpp"

#include <cstddef>
#include <cstdint>

namespace cupel::worker {

struct CoordinatorsSettings {
  std::size_t count = 1;
  /// Without a session; grows by half with each round that brought none, up to patience_max.
  Duration patience = std::chrono::milliseconds(1'000);
  Duration patience_max = std::chrono::milliseconds(6'000);
  Duration pause = std::chrono::milliseconds(500);  ///< After all have turned it away.
  /// With an only one: on a connection that stands, without a session and a word; grows alike.
  Duration silence = std::chrono::milliseconds(5'000);
  Duration silence_max = std::chrono::milliseconds(30'000);
  std::uint64_t random = 0;  ///< Spreads a fleet; any value.
};

class Coordinators {
 public:
  explicit Coordinators(CoordinatorsSettings settings, TimePoint now);

  /// Index of the one it speaks with.
  [[nodiscard]] std::size_t current() const { return current_; }
  /// The current one says that it doesn't lead.
  void turned_away(TimePoint now);
  /// The current one has said something.
  void heard(TimePoint now) { heard_ = now; }
  /// At least every 200 ms. True: connect to current() now, which is another one where there is
  /// one.
  [[nodiscard]] bool tick(bool in_session, bool connected, TimePoint now);

 private:
  [[nodiscard]] bool is_stuck(bool in_session, bool connected, TimePoint now);
  [[nodiscard]] Duration spread(Duration duration);

  CoordinatorsSettings settings_;
  std::size_t current_ = 0;
  std::size_t fruitless_ = 0;  ///< Visits in a row without a session.
  TimePoint leave_at_;
  TimePoint heard_;     ///< The last word, or the last moment in a session or without a connection.
  Duration silence_{};  ///< What is borne from there.
};

}  // namespace cupel::worker
