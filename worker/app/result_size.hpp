/// Keeps a result within the control plane's message. Pure.
#pragma once

#include "common/core/task.hpp"

#include <optional>
#include <string>

namespace cupel::worker {

/// Cuts the findings to what a message carries (512 KiB), the first ones kept, and returns all of
/// them as one JSON array for an artifact. Nothing when they fit.
[[nodiscard]] std::optional<std::string> fit_into_message(TaskResult& result);

}  // namespace cupel::worker
