#include "common/core/noise.hpp"

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <cmath>

namespace cupel {
namespace {

double power(double base, unsigned exponent) {
  return std::pow(base, static_cast<double>(exponent));
}

double choose(unsigned n, unsigned k) {
  double value = 1;
  for (unsigned i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return value;
}

/// The largest share of false regressions among first differences, over all p.
double worst_ratio(std::uint16_t runs, std::uint16_t need) {
  double worst = 0;
  for (int i = 1; i < 1000; ++i) {
    const double p = i / 1000.0;
    worst = std::max(worst, false_regression(p, runs, need) / (2 * p * (1 - p)));
  }
  return worst;
}

/// The largest share that the sample doesn't contradict with 95 % confidence (Clopper-Pearson).
double share_at_most(const AaSample& sample) {
  return boost::math::binomial_distribution<>::find_upper_bound_on_p(
      static_cast<double>(sample.pairs), static_cast<double>(sample.differ), 0.05);
}

}  // namespace

double false_regression(double p, std::uint16_t runs, std::uint16_t need) {
  double enough = 0;
  for (unsigned k = need; k <= runs; ++k) {
    enough += choose(runs, k) * power(p, k) * power(1 - p, runs - k);
  }
  return p * (1 - p) * enough * power(1 - p, runs);
}

Expectation expected_false_regressions(const AaSample& sample, std::uint64_t units,
                                       std::uint16_t runs, std::uint16_t need) {
  Expectation out;
  const double count = static_cast<double>(units);
  double worst = 0;
  for (int i = 1; i < 1000; ++i) worst = std::max(worst, false_regression(i / 1000.0, runs, need));
  out.bound = worst * count;
  if (sample.pairs == 0) return out;
  out.measured = true;
  out.differ_share = static_cast<double>(sample.differ) / static_cast<double>(sample.pairs);
  // 2p(1-p) is at most one half for one p.
  const double inside = 1 - 2 * std::min(out.differ_share, 0.5);
  const double p = (1 - std::sqrt(std::max(0.0, inside))) / 2;
  out.false_regressed = false_regression(p, runs, need) * count;
  // A few quiet units say little about the others: the sample's upper limit counts.
  out.bound = std::min(out.bound, share_at_most(sample) * count * worst_ratio(runs, need));
  return out;
}

}  // namespace cupel
