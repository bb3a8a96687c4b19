/// How long an attempt may live at the most, however often its lease is renewed. Pure.
#pragma once

#include "common/core/task.hpp"
#include "common/core/time.hpp"

namespace cupel {

/// The limits of the task's runs, with the post-run calls of each and what lies around them. Above
/// what a worker gives itself for the same task, so that an honest one ends by itself before it is
/// cut off. Saturates at a year for absurd settings.
[[nodiscard]] Duration task_life(const Work& work, const ValidationSettings& settings);

}  // namespace cupel
