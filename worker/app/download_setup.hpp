/// The download cache, from the worker's configuration.
#pragma once

#include "worker/app/go_environment.hpp"
#include "worker/app/options.hpp"
#include "worker/app/worker_metrics.hpp"
#include "worker/downloads/download_filler.hpp"

#include <memory>

namespace cupel::worker {

/// Null where there is none: switched off, a fixture proxy, or no checksum database whose key is
/// known (the log says so). A worker works without it; every module then comes from the proxies.
/// The metrics outlive it.
[[nodiscard]] std::unique_ptr<DownloadFiller> start_downloads(const Options& options,
                                                              const GoEnvironment& go,
                                                              WorkerMetrics& metrics);

}  // namespace cupel::worker
