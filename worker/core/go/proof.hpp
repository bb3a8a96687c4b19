/// How far the run behind a check can be believed. Internal to the judge.
#pragma once

#include "common/core/outcome.hpp"
#include "worker/core/engine/run.hpp"

#include <string>

namespace cupel::worker::go {

/// `none` when the command ended by itself, its exit code is agreed, and both streams are whole.
/// Else the strongest reason why nothing that it printed proves anything.
[[nodiscard]] Reason doubt_of(const RunReport& report);

/// The reason in words, with its figures.
[[nodiscard]] std::string doubt_text(Reason reason, const RunReport& report);

}  // namespace cupel::worker::go
