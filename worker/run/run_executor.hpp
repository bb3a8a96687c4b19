/// Runs one container from create to remove: RunPort over a Docker-compatible engine.
#pragma once

#include "common/docker/client.hpp"
#include "common/fs/growth_watch.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/ports/egress_port.hpp"
#include "worker/ports/run_port.hpp"
#include "worker/run/run_observation.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace cupel::worker {

/// Times inside a run that no configuration changes; short ones in tests.
struct RunTimes {
  Duration orders = std::chrono::seconds(10);      ///< For the engine to take the orders.
  Duration order_slack = std::chrono::seconds(5);  ///< For the wrapper to reap, flush, say its end.
  Duration output_tail = std::chrono::seconds(10);  ///< For the engine to pass on what is written.
  Duration wait_slack = std::chrono::seconds(30);   ///< Of a wait's body beyond every limit.
  /// Of an engine that answers neither the wait nor a question for the state.
  Duration silence = std::chrono::seconds(30);
  Duration look = std::chrono::seconds(15);  ///< Between two looks at the state beside the wait.
  Duration again =
      std::chrono::milliseconds(500);  ///< Before a broken call is made again; doubles.
};

struct ExecutorOptions {
  ProfileContext context;
  fs::GrowthBudget mount_budget;                   ///< Of all rw mounts of a run together.
  Duration dump_grace = std::chrono::seconds(10);  ///< From SIGQUIT to SIGKILL.
  Duration wrapper_slack =
      std::chrono::seconds(15);  ///< The wrapper's own limit beyond the check limit.
  /// Added to a run's limit for its deadline label: wrapper slack and the post-run calls.
  Duration post_run = std::chrono::seconds(150);
  Duration watch_period = std::chrono::milliseconds(100);
  RunTimes times = {};
  /// Keeper of the network; outlives the executor. Null: the context's network, as configured.
  EgressPort* egress = nullptr;
};

/// Thread rule: the run loop only. Lives longer than its runs; join() before it is destroyed.
class RunExecutor final : public RunPort {
 public:
  using Observer = std::function<void(const RunObservation&)>;

  /// `files`: where blocking directory walks happen.
  RunExecutor(boost::asio::any_io_executor executor, docker::Client& engine,
              boost::asio::thread_pool& files, ExecutorOptions options, Observer observer = {});
  ~RunExecutor() override;

  [[nodiscard]] boost::asio::awaitable<RunReport> run(RunRequest request,
                                                      std::shared_ptr<CancelToken> cancel,
                                                      OutputSink output) override;

  /// Returns when no run is under way. Cancels nothing by itself.
  [[nodiscard]] boost::asio::awaitable<void> join();
  /// Run ids under way, for the reaper: a run is in it from before its create until its remove
  /// worked.
  [[nodiscard]] std::set<std::string> live_runs() const;
  /// Containers whose removal failed so far; the reaper takes them over.
  [[nodiscard]] std::uint64_t parked_count() const;
  /// Of those, the ones that may be there still. Each may still use the host, so a worker takes
  /// that many tasks less.
  [[nodiscard]] std::size_t unremoved_count() const;
  /// What a reaper's pass that began at `began` saw: of what was parked before, only `left` is.
  void settle(TimePoint began, const std::set<std::string>& left);
  /// What is known of an image (asked of the engine at the first use, then kept).
  /// Errors: image_missing, unsafe_sandbox.
  [[nodiscard]] boost::asio::awaitable<Result<ImageTraits>> image_traits(std::string image);
  [[nodiscard]] const ExecutorOptions& options() const;

  /// Implementation detail, public for its own coroutines.
  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cupel::worker
