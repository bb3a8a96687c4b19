#include "tests/bench/support/figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/resource.h>
#include <thread>
#include <utility>

namespace cupel::bench {
namespace {

double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 4 - std::ceil(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

nlohmann::json spread(std::vector<double> values) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return {rounded(*low), rounded(*high)};
}

}  // namespace

double percentile(std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void print(const Series& series, nlohmann::json conditions) {
  if (series.values.empty()) return;
  nlohmann::ordered_json line;
  line["name"] = series.name;
  line["value"] = rounded(median(series.values));
  line["unit"] = series.unit;
  conditions["rounds"] = series.values.size();
  if (series.values.size() > 1) conditions["spread"] = spread(series.values);
  if (!series.against.empty()) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < series.values.size(); ++i)
      ratios.push_back(series.values[i] / series.against[i]);
    line["floor"] = rounded(median(series.against));
    line["ratio"] = rounded(median(ratios));
    if (ratios.size() > 1) {
      conditions["floor_spread"] = spread(series.against);
      conditions["ratio_spread"] = spread(ratios);
    }
  }
  std::array<double, 1> load{};
  if (::getloadavg(load.data(), 1) == 1) conditions["load_average"] = rounded(load[0]);
  conditions["processors"] = std::thread::hardware_concurrency();
  conditions["nice"] = ::getpriority(PRIO_PROCESS, 0);
  conditions["build"] = CUPEL_BUILD;
  line["conditions"] = std::move(conditions);
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void take_turns(int round, const std::function<void()>& floor, const std::function<void()>& ours) {
  (round % 2 == 0 ? floor : ours)();
  (round % 2 == 0 ? ours : floor)();
}

std::string built_wrapper() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "bin/cupel-init").string();
}

void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

}  // namespace cupel::bench
