/// The whole coordinator, put together.
#pragma once

#include "coordinator/app/options.hpp"

namespace cupel::coordinator {

/// Runs until TERM or INT, or until the store is lost; returns the exit code. Errors of the start
/// are printed.
[[nodiscard]] int run_coordinator(const Options& options);

}  // namespace cupel::coordinator
