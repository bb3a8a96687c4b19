/// Everything that a run needs before it is launched. Internal to worker/bubblewrap. Blocking.
#pragma once

#include "worker/bubblewrap/bubblewrap_runs.hpp"
#include "worker/run/run_marks.hpp"

#include <string>
#include <vector>

namespace cupel::worker {

struct LaunchPlan {
  bubblewrap::LaunchRequest launch;  ///< Without streams and groups.
  RunCgroup cgroup;
  RunMarks marks;
  std::string orders;
  std::vector<std::string> notes;  ///< Limits that are not held.
};

/// Errors: image_missing; those of run_jail(), RunMarks::place(), Cgroups::make(). Then nothing is
/// left.
[[nodiscard]] Result<LaunchPlan> plan_launch(const RunRequest& request, const std::string& run_id,
                                             WrapperOrders orders, const BubblewrapHost& host,
                                             const BubblewrapOptions& options);

}  // namespace cupel::worker
