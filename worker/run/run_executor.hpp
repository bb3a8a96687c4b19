/// Runs one container from create to remove: RunPort over a Docker-compatible engine.
#pragma once

#include "common/docker/client.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace cupel::worker {

/// What a rw mount may grow to, by role. A watcher ends the run within a quarter of a second of it.
struct MountBudget {
  std::uint64_t bytes = 8ULL << 30;
  std::uint64_t inodes = 1'000'000;
  /// The file system that holds the data directory keeps at least this much free.
  std::uint64_t reserve_bytes = 2ULL << 30;
};

struct ExecutorOptions {
  ProfileContext context;
  MountBudget mount_budget;
  Duration dump_grace = std::chrono::seconds(10);  ///< From SIGQUIT to SIGKILL.
  Duration wrapper_slack =
      std::chrono::seconds(15);  ///< The wrapper's own limit beyond the check limit.
  /// Added to a run's limit for its deadline label: wrapper slack and the post-run calls.
  Duration post_run = std::chrono::seconds(150);
  Duration watch_period = std::chrono::milliseconds(100);
};

/// How a run ended, for metrics; the single calls are seen by the client's observer.
struct RunObservation {
  Profile profile = Profile::execute;
  CheckKind check = CheckKind::test;
  EndedBy ended_by = EndedBy::itself;
  bool engine_error = false;
  Duration wall{};
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
  /// Containers whose removal failed; the reaper takes them over.
  [[nodiscard]] std::uint64_t parked_count() const;
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
