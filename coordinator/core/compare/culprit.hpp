/// Which part of a change did it: delta debugging (ddmin) over the parts, one probe at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cupel::coordinator::compare {

using Parts = std::vector<std::uint16_t>;  ///< Indices of the parts, ascending.

enum class ProbeOutcome : std::uint8_t {
  shows,       ///< The problem is there.
  clean,       ///< It isn't.
  unresolved,  ///< These parts alone can't be applied or judged.
};

struct Probe {
  Parts parts;
  ProbeOutcome outcome = ProbeOutcome::unresolved;
};

struct Search {
  std::optional<Parts> next;  ///< Set: probe these, then ask again.
  Parts culprit;              ///< The smallest set known to show the problem.
  bool minimal = false;       ///< No set with one part less shows it (as far as probes resolve).
};

/// Pure: replays the algorithm over the probes that are known. All parts together are known to show
/// the problem. At most `probes_max` probes are asked for; then the best so far is the answer.
[[nodiscard]] Search search_culprit(std::size_t parts, std::span<const Probe> known,
                                    std::size_t probes_max);

}  // namespace cupel::coordinator::compare
