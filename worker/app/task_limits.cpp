#include "worker/app/task_limits.hpp"

#include "worker/core/go/plan.hpp"

#include <algorithm>

namespace cupel::worker {
namespace {

using std::chrono::seconds;

// kill, second wait, logs, inspect and remove of one run, each on its own budget.
constexpr Duration kPostRun = seconds(120);
// Seeding a build cache, transfers of logs.
constexpr Duration kAround = seconds(1500);
constexpr int kAcquireRuns = 6;
constexpr int kMutateRuns = 12;

}  // namespace

Duration task_limit(const TaskSpec& spec, const Bounds& bounds) {
  Duration limit = kAround;
  if (const auto* execute = std::get_if<Execute>(&spec.work)) {
    const WantedScan scan{.wanted = execute->scan.wanted(),
                          .only = execute->only_scan,
                          .limit_s = execute->scan.limit_s};
    for (const PlannedCheck& check : plan_checks(execute->unit, spec.settings, scan))
      limit += check.limit + kPostRun;
  } else {
    const bool mutate = std::holds_alternative<Mutate>(spec.work);
    // A mutate asks, changes and asks again; each run has the acquire limit of its own.
    limit += (mutate ? 4 : 1) * seconds(spec.settings.acquire_limit_s) +
             (mutate ? kMutateRuns : kAcquireRuns) * kPostRun;
  }
  return std::min<Duration>(limit, seconds(bounds.task_seconds_max));
}

}  // namespace cupel::worker
