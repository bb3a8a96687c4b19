/// What the runs of one side say together: which of them count, what comes and goes between them,
/// and what they would have shown had it been there.
#pragma once

#include "coordinator/core/compare/difference.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace cupel::coordinator::compare {

/// A problem that some runs of one side have and others don't.
struct Flake {
  std::uint32_t mark = 0;
  Side side = Side::before;
  std::uint32_t hits = 0;
  std::uint32_t runs = 0;
  friend bool operator==(const Flake&, const Flake&) = default;
};

class SideView {
 public:
  SideView() = default;
  /// A run counts when it is conclusive and comparable with the first one, which must be. The runs
  /// outlive the view.
  SideView(const Book& book, const std::vector<Run>& runs);

  /// Of the runs that count, in order.
  [[nodiscard]] const std::vector<Problems>& problems() const { return problems_; }
  [[nodiscard]] std::size_t size() const { return problems_.size(); }
  /// Runs that count and have a failure.
  [[nodiscard]] std::size_t failing() const;
  /// Repeats, whether they count or not.
  [[nodiscard]] std::size_t asked() const { return asked_; }
  /// The last repeat that doesn't count; null where all do.
  [[nodiscard]] const Run* spoiled() const { return spoiled_; }

  [[nodiscard]] std::vector<Flake> flakes(Side side) const;

  /// Without what comes and goes nothing fails: for each package there is a run in which it passes.
  /// By package, as a failure that has another name each time is there each time.
  [[nodiscard]] bool passes_but_for_flakes() const;

  /// Runs in which a failure such as `mark` would have been seen: its package was tested to the
  /// end.
  [[nodiscard]] std::size_t runs_that_show(const Mark& mark) const;

 private:
  /// What a run says of packages.
  struct Packages {
    bool all_tested = false;  ///< Those that import what doesn't build aren't, and aren't known.
    std::set<std::string> failed;
    std::set<std::string> stopped;
  };

  static Packages packages_of(const Book& book, const Run& run, const Problems& problems);

  std::vector<Problems> problems_;
  std::vector<Packages> packages_;  ///< Of the same runs.
  std::size_t asked_ = 0;
  const Run* spoiled_ = nullptr;
};

}  // namespace cupel::coordinator::compare
