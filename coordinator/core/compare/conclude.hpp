/// From the runs of both sides to the verdict of design section 7, or to the next repeat that is
/// needed for it.
#pragma once

#include "coordinator/core/compare/difference.hpp"
#include "coordinator/core/compare/side_view.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator::compare {

struct Rules {
  std::uint16_t runs = 3;   ///< Repeats of each side after a first difference.
  std::uint16_t need = 3;   ///< Of them on the side that shows the problem.
  bool go_changes = false;  ///< The change is, or led to, another Go version.
  std::string module;       ///< Of the unit: whose packages are its own.
};

enum class Fate : std::uint8_t {
  confirmed,  ///< On `need` repeats of one side, and on no run of the other.
  refuted,    ///< The repeats don't agree.
  open,       ///< More repeats are needed.
};

/// One difference over all runs.
struct Tally {
  std::string identity;
  std::uint32_t mark = 0;
  enum class What : std::uint8_t { introduced, resolved, altered } what = What::introduced;
  Fate fate = Fate::open;
  bool package = false;  ///< Any failure of the package: when its findings differ each time.
  std::uint32_t before_hits = 0;
  std::uint32_t after_hits = 0;
  friend bool operator==(const Tally&, const Tally&) = default;
};

struct Conclusion {
  /// Set: run this side once more, then ask again; nothing else counts.
  std::optional<Side> repeat;
  Verdict verdict = Verdict::inconclusive;
  Reason reason = Reason::none;
  Fault fault = Fault::none;
  std::string message;  ///< One line.
  TaskId decider;       ///< Whose result shows it best.
  Difference first;     ///< Of the first runs.
  std::vector<Tally> tallies;
  std::vector<Flake> flakes;
  std::vector<std::string> explained;  ///< Conditions that differ because of the change.
  std::uint32_t before_runs = 0;       ///< That counted.
  std::uint32_t after_runs = 0;
};

/// What comes and goes between the runs of a side is set aside: where nothing else fails before, a
/// failure that every run of the after side has is a regression. No failure counts as new that a
/// run of the before side had, or may have had, or could have hidden too often.
///
/// `book` has at least one run of each side. Repeats that aren't conclusive, or not comparable with
/// the first run of their side, don't count; twice `rules.runs` repeats of a side are the most that
/// are asked for.
[[nodiscard]] Conclusion conclude(const Book& book, const Rules& rules);

}  // namespace cupel::coordinator::compare
