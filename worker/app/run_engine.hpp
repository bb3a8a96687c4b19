/// What carries out the runs of a worker: a container engine, or bubblewrap. The run loop only.
#pragma once

#include "common/core/ids.hpp"
#include "common/core/time.hpp"
#include "common/fs/growth_watch.hpp"
#include "common/images/select.hpp"
#include "worker/app/options.hpp"
#include "worker/app/worker_metrics.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker {

/// Where this worker stands in the fleet; known after the first welcome.
struct Membership {
  FleetId fleet;
  WorkerId worker;
  Incarnation incarnation;
};

class RunEngine {
 public:
  RunEngine() = default;
  RunEngine(const RunEngine&) = delete;
  RunEngine& operator=(const RunEngine&) = delete;
  virtual ~RunEngine() = default;

  /// Is it there, and what is it? Called again after every error, until the worker is ready; the
  /// functions below only after the first success. Errors say what is missing.
  [[nodiscard]] virtual boost::asio::awaitable<Result<void>> open(Membership membership) = 0;
  [[nodiscard]] virtual RunPort& runs() = 0;
  /// For the evidence: "docker 20.10.24, api 1.41, runc".
  [[nodiscard]] virtual std::string text() const = 0;
  /// True where files that runs write belong to another user than the worker: seeds of build caches
  /// can then be shared by hard links.
  [[nodiscard]] virtual bool runs_own_nothing() const = 0;

  /// Removes what an earlier process left, of `earlier_fleet` as well where it is another.
  [[nodiscard]] virtual boost::asio::awaitable<Result<void>> sweep(FleetId earlier_fleet) = 0;
  /// Makes the network of runs ready. Errors: unsafe_sandbox.
  [[nodiscard]] virtual boost::asio::awaitable<Result<void>> prepare_network() = 0;
  [[nodiscard]] virtual boost::asio::awaitable<Result<std::vector<images::EngineImage>>>
  images() = 0;
  [[nodiscard]] virtual boost::asio::awaitable<Result<void>> alive() = 0;
  /// Until cancelled: removes leftovers, and calls `changed` when places may have come free.
  [[nodiscard]] virtual boost::asio::awaitable<void> keep_clean(std::function<void()> changed) = 0;
  /// Tells the metrics how it is.
  [[nodiscard]] virtual boost::asio::awaitable<void> observe() = 0;

  /// Why the network of runs is not enforced; empty where it is.
  [[nodiscard]] virtual std::string why_not_enforced() const = 0;
  /// How long the module proxies are left alone; nothing while they may be asked.
  [[nodiscard]] virtual boost::asio::awaitable<std::optional<Duration>> upstream_pause() = 0;
  /// Runs that ended and may still use the host; each holds a place.
  [[nodiscard]] virtual std::size_t unremoved_count() const = 0;
  /// Waits for the runs that are under way, and ends what serves them.
  [[nodiscard]] virtual boost::asio::awaitable<void> stop() = 0;
};

/// What both are made of; all of it outlives them.
struct RunEngineParts {
  boost::asio::io_context& loop;
  boost::asio::thread_pool& files;
  WorkerMetrics& metrics;
  const Options& options;
};

/// By the setting `engine`.
[[nodiscard]] std::unique_ptr<RunEngine> make_run_engine(RunEngineParts parts);
[[nodiscard]] std::unique_ptr<RunEngine> make_container_engine(RunEngineParts parts);
[[nodiscard]] std::unique_ptr<RunEngine> make_bubblewrap_engine(RunEngineParts parts);

/// Of all writable mounts of one run together.
[[nodiscard]] fs::GrowthBudget mount_budget(const Options& options);

/// The netrc as a file that a run's user can read, below directories that only we can enter. Empty
/// where none is configured. Errors: those of reading it, io_error.
[[nodiscard]] Result<std::string> credentials_for_runs(const Options& options);

/// Debian's collection of trusted certificates, with those that the host's administrator added.
inline constexpr const char* kSystemCertificates = "/etc/ssl/certs/ca-certificates.crt";

/// The file of CA certificates for the runs that have a network: the configured one, else a copy of
/// the host's in `data_dir`, since an engine may not see the host's folders; empty where the host
/// has none. Errors: io_error.
[[nodiscard]] Result<std::string> certificates_for_runs(
    const Options& options, const std::string& system_file = kSystemCertificates);

}  // namespace cupel::worker
