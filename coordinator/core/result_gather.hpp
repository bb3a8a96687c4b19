/// How long a result waits for those behind it.
#pragma once

#include "common/core/time.hpp"

#include <chrono>
#include <utility>

namespace cupel::coordinator {

/// A commit costs about the same for one result as for ten, and results come in bursts: those of
/// the leases that one commit allowed. So while the fleet is busy a result waits for a moment,
/// unless nobody is left to send another. After a pause nothing waits: alone it would only be late.
class ResultGather {
 public:
  /// A result is part of a burst when the one before it came within this time.
  static constexpr Duration kBurst = std::chrono::milliseconds(2);
  /// What the first result of a commit waits at most.
  static constexpr Duration kWait = std::chrono::microseconds(150);

  /// For a result that came at `now`; zero: it waits for nothing. `more`: leases are out that may
  /// still be answered.
  [[nodiscard]] Duration wait(TimePoint now, bool more) {
    const Duration since = now - std::exchange(last_, now);
    return more && since < kBurst ? kWait : Duration::zero();
  }

 private:
  TimePoint last_{};
};

}  // namespace cupel::coordinator
