/// What differs between one run of the before side and one of the after side (rules C1 to C4).
#pragma once

#include "coordinator/core/compare/facts.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator::compare {

/// The findings of a run by identity: what counts as the same problem on both sides.
struct Problem {
  std::uint32_t mark = 0;  ///< The first one.
  std::uint32_t count = 0;
  std::set<std::string> words;  ///< wording_of() its marks.
};
using Problems = std::map<std::string, Problem>;  ///< By identity().

/// The key; for an inferred finding its family and package (rule C3).
[[nodiscard]] std::string identity(const Mark& mark);
[[nodiscard]] Problems problems_of(const Book& book, const Run& run);

/// Packages in which tests can't have run to their end.
[[nodiscard]] std::set<std::string> stopped_packages(const Book& book, const Run& run);
/// A test that fails or a package that does, apart from what exactly was said of it.
[[nodiscard]] std::string_view family_of(const Mark& mark);

struct Item {
  std::string identity;
  std::uint32_t mark = 0;    ///< Of the side that has it (the after side where both do).
  std::uint32_t before = 0;  ///< How often.
  std::uint32_t after = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

struct Difference {
  std::vector<Item> introduced;  ///< More often after than before.
  std::vector<Item> resolved;    ///< Less often after, and it could have shown.
  std::vector<Item> altered;     ///< As often, with other words.
  std::vector<Item> not_run;     ///< Gone because its package didn't get that far.
  std::vector<Item> unchanged;   ///< Among them subtests that stand for one another (rule C4).

  [[nodiscard]] bool empty() const {
    return introduced.empty() && resolved.empty() && altered.empty() && not_run.empty();
  }
};

[[nodiscard]] Difference difference_of(const Book& book, const Run& before, const Run& after);

/// What forbids the comparison of two runs: "engine: A on one side, B on the other". Empty:
/// nothing. `explained` gets what differs because of the change itself (another image, another Go
/// version).
[[nodiscard]] std::string why_incomparable(const Run& before, const Run& after, bool go_changes,
                                           std::vector<std::string>& explained);

}  // namespace cupel::coordinator::compare
