/// Composition root of cupel-worker: loops, sockets, agent, run side; from start to exit code.
#pragma once

#include "worker/app/options.hpp"

namespace cupel::worker {

/// Runs until it is told to stop. Returns the exit code of docs/exit-codes.md; errors at start are
/// logged with what to do.
[[nodiscard]] int run_worker(const Options& options);

}  // namespace cupel::worker
