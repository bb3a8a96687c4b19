/// The keeper of runs' networks, from the worker's configuration.
#pragma once

#include "common/docker/client.hpp"
#include "worker/app/go_environment.hpp"
#include "worker/app/options.hpp"
#include "worker/app/worker_metrics.hpp"
#include "worker/egress/gate.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>

namespace cupel::worker {

/// More is no netrc file.
inline constexpr std::uint64_t kNetrcBytesMax = 1ULL << 20;

/// References outlive the gate. Errors: bad_config for a proxy that can't be used, and those of
/// reading the netrc file.
[[nodiscard]] Result<std::unique_ptr<egress::Gate>> make_gate(
    boost::asio::any_io_executor executor, docker::Client& engine, const Options& options,
    const GoEnvironment& go, const ProfileContext& context, WorkerMetrics& metrics);

}  // namespace cupel::worker
