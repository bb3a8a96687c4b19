#include "coordinator/core/compare/culprit.hpp"

#include <algorithm>
#include <numeric>

namespace cupel::coordinator::compare {
namespace {

class DeltaDebugging {
 public:
  DeltaDebugging(std::size_t parts, std::span<const Probe> known, std::size_t probes_max)
      : known_(known), probes_max_(probes_max), current_(parts) {
    std::iota(current_.begin(), current_.end(), std::uint16_t{0});
  }

  Search run() {
    std::size_t pieces = 2;
    while (current_.size() >= 2 && !stopped_) {
      if (reduce_to_piece(pieces)) {
        pieces = 2;
      } else if (pieces > 2 && !stopped_ && reduce_by_piece(pieces)) {
        pieces = std::max<std::size_t>(pieces - 1, 2);
      } else if (pieces >= current_.size()) {
        break;
      } else {
        pieces = std::min(current_.size(), 2 * pieces);
      }
    }
    return {std::move(next_), std::move(current_), !stopped_};
  }

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> bounds(std::size_t piece,
                                                           std::size_t pieces) const {
    return {current_.size() * piece / pieces, current_.size() * (piece + 1) / pieces};
  }

  bool reduce_to_piece(std::size_t pieces) {
    for (std::size_t i = 0; i < pieces && !stopped_; ++i) {
      const auto [begin, end] = bounds(i, pieces);
      Parts piece(current_.begin() + static_cast<std::ptrdiff_t>(begin),
                  current_.begin() + static_cast<std::ptrdiff_t>(end));
      if (!shows(piece)) continue;
      current_ = std::move(piece);
      return true;
    }
    return false;
  }

  bool reduce_by_piece(std::size_t pieces) {
    for (std::size_t i = 0; i < pieces && !stopped_; ++i) {
      const auto [begin, end] = bounds(i, pieces);
      Parts rest = current_;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                 rest.begin() + static_cast<std::ptrdiff_t>(end));
      if (!shows(rest)) continue;
      current_ = std::move(rest);
      return true;
    }
    return false;
  }

  /// False as well when the answer isn't known: then the search is stopped.
  bool shows(const Parts& parts) {
    const auto found = std::ranges::find(known_, parts, &Probe::parts);
    if (found != known_.end()) return found->outcome == ProbeOutcome::shows;
    stopped_ = true;
    if (known_.size() < probes_max_) next_ = parts;
    return false;
  }

  std::span<const Probe> known_;
  std::size_t probes_max_;
  Parts current_;
  std::optional<Parts> next_;
  bool stopped_ = false;
};

}  // namespace

Search search_culprit(std::size_t parts, std::span<const Probe> known, std::size_t probes_max) {
  return DeltaDebugging(parts, known, probes_max).run();
}

}  // namespace cupel::coordinator::compare
