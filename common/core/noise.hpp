/// How many false regressions a campaign has to expect from tests that flicker.
#pragma once

#include <cstdint>

namespace cupel {

/// What the unchanged side, run twice, has shown.
struct AaSample {
  std::uint64_t pairs = 0;   ///< Units whose unchanged side ran twice, conclusively.
  std::uint64_t differ = 0;  ///< Of them, those whose two runs don't agree.
};

/// A unit whose run fails by chance with probability p differs between two runs with 2p(1-p), and
/// is called regressed with (1-p)p at first and then, in n repeats of each side, (1-p)^n p^n: that
/// is (p(1-p))^(n+1). This holds for need = runs; smaller needs add the ways to miss some.
[[nodiscard]] double false_regression(double p, std::uint16_t runs, std::uint16_t need);

struct Expectation {
  bool measured = false;       ///< From an A/A sample; otherwise only the bound is known.
  double differ_share = 0;     ///< Share of units whose first comparison differs by chance.
  double false_regressed = 0;  ///< Expected number, if all units flicker alike.
  /// At most that many, however units differ (runs independent). With a sample: with 95 %
  /// confidence in the share of units that differ.
  double bound = 0;
};

[[nodiscard]] Expectation expected_false_regressions(const AaSample& sample, std::uint64_t units,
                                                     std::uint16_t runs, std::uint16_t need);

}  // namespace cupel
