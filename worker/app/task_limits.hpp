/// How long a task may take at the most. Pure.
#pragma once

#include "common/core/task.hpp"
#include "common/core/time.hpp"
#include "worker/app/options.hpp"

namespace cupel::worker {

/// The limits of its runs with the post-run calls of each, within the worker's own bound. The lease
/// is renewed no longer than this, and containers carry it as their deadline.
[[nodiscard]] Duration task_limit(const TaskSpec& spec, const Bounds& bounds);

}  // namespace cupel::worker
