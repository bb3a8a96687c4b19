/// How many of a worker's attempts failed lately, in constant memory.
#pragma once

#include "common/core/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cupel::coordinator {

/// Counts over a sliding window, by twelfths of it: what is counted is between eleven twelfths of
/// the window and the whole of it old.
class FailureWindow {
 public:
  struct Counts {
    std::uint32_t failed = 0;
    std::uint32_t all = 0;
  };

  void add(bool failed, TimePoint now, Duration window) {
    advance(now, window);
    Counts& slot = slots_.at(static_cast<std::size_t>(tick_ % kSlots));
    slot.failed += failed ? 1 : 0;
    ++slot.all;
  }
  [[nodiscard]] Counts counts(TimePoint now, Duration window) const {
    const std::int64_t tick = tick_of(now, window);
    Counts sum;
    for (std::int64_t i = 0; i < kSlots && i <= tick_; ++i) {
      if (tick_ - i <= tick - kSlots) break;
      const Counts& slot = slots_.at(static_cast<std::size_t>((tick_ - i) % kSlots));
      sum.failed += slot.failed;
      sum.all += slot.all;
    }
    return sum;
  }
  void clear() { *this = {}; }

 private:
  static constexpr std::int64_t kSlots = 12;

  static std::int64_t tick_of(TimePoint now, Duration window) {
    return now.time_since_epoch() / (window / kSlots);
  }
  void advance(TimePoint now, Duration window) {
    const std::int64_t tick = tick_of(now, window);
    if (tick - tick_ >= kSlots) {
      slots_ = {};
      tick_ = tick;
    }
    while (tick_ < tick) slots_.at(static_cast<std::size_t>(++tick_ % kSlots)) = {};
  }

  std::array<Counts, kSlots> slots_{};
  std::int64_t tick_ = 0;  ///< Of the newest slot.
};

}  // namespace cupel::coordinator
