/// How a benchmark says what it measured: one JSON object a line, with what it was measured
/// against in the same go and the state of the machine. Ratios are taken round by round, so that
/// what else the machine does weighs on both sides alike.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cupel::bench {

/// One figure over the rounds. `against` has a value for each of `values`, or none at all.
struct Series {
  std::string name;
  std::string unit;
  std::vector<double> values;
  std::vector<double> against;

  void add(double value, double floor) {
    values.push_back(value);
    against.push_back(floor);
  }
};

[[nodiscard]] double median(std::vector<double> values);  ///< 0 of none.
/// `p` from 0 to 1; sorts.
[[nodiscard]] double percentile(std::vector<double>& values, double p);

/// {"name", "value", "unit", "floor", "ratio", "conditions"}: medians over the rounds, `ratio` the
/// median of the rounds' own ratios. The conditions get the spread, build type, processors, load
/// average and nice value. The state of the machine is read now.
void print(const Series& series, nlohmann::json conditions);

/// Runs both; which goes first alternates with the round, so that neither always follows the other.
void take_turns(int round, const std::function<void()>& floor, const std::function<void()>& ours);

/// The wrapper that was built beside this benchmark.
[[nodiscard]] std::string built_wrapper();

/// To stderr, and the benchmark is over.
[[noreturn]] void fail(const std::string& what);

}  // namespace cupel::bench
