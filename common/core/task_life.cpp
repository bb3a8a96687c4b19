#include "common/core/task_life.hpp"

#include <algorithm>
#include <cstdint>

namespace cupel {
namespace {

using std::chrono::seconds;

// Seconds. The derived limits are those of the worker's plan of checks.
constexpr std::uint64_t kYear = 365ULL * 24 * 3600;
constexpr std::uint64_t kList = 300;
constexpr std::uint64_t kOther = 900;
constexpr std::uint64_t kScan = 600;
constexpr std::uint64_t kTestGrace = 75;
constexpr std::uint64_t kPostRun = 120;  // kill, second wait, logs, inspect and remove of one run
constexpr std::uint64_t kAround = 1500;  // seeding a build cache, transfers of logs
constexpr std::uint64_t kWaiting = 600;  // for a slot whose earlier attempt is still cleaned up
constexpr std::uint64_t kAcquireRuns = 6;
constexpr std::uint64_t kMutateRuns = 40;  // discovery, get, tidy twice, graphs, downloads

/// A sum that stops at a year.
class Total {
 public:
  void add(std::uint64_t more) { sum_ = std::min(kYear, sum_ + std::min(kYear, more)); }
  [[nodiscard]] Duration value() const { return seconds(sum_); }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace

Duration task_life(const Work& work, const ValidationSettings& settings) {
  Total total;
  total.add(kAround + kWaiting);
  const auto* execute = std::get_if<Execute>(&work);
  if (execute == nullptr) {
    const bool mutate = std::holds_alternative<Mutate>(work);
    total.add(mutate ? 4 * std::min(kYear, settings.acquire_limit_s) : settings.acquire_limit_s);
    total.add((mutate ? kMutateRuns : kAcquireRuns) * kPostRun);
    return total.value();
  }
  const auto run = [&total](std::uint64_t limit) {
    total.add(limit);
    total.add(kPostRun);
  };
  const auto check = [&](std::uint64_t derived) {
    run(settings.check_limit_s == 0 ? derived : settings.check_limit_s);
  };
  run(kList);
  if (execute->scan.wanted()) run(execute->scan.limit_s == 0 ? kScan : execute->scan.limit_s);
  if (settings.build) check(kOther);
  if (settings.vet) check(kOther);
  if (settings.test.enabled) {
    check(settings.test.timeout_s == 0 ? kOther
                                       : std::min(kYear, settings.test.timeout_s) + kTestGrace);
  }
  for (const CustomCheck& custom : settings.custom) run(custom.limit_s);
  return total.value();
}

}  // namespace cupel
