/// Runs without a container engine: RunPort over bubblewrap. Each run is a child of this process
/// and dies with it; nothing of a run outlives the worker but empty folders.
#pragma once

#include "common/bubblewrap/machine.hpp"
#include "common/fs/growth_watch.hpp"
#include "worker/bubblewrap/cgroups.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/ports/run_port.hpp"
#include "worker/run/run_observation.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace cupel::worker {

/// What this machine gives to runs; looked at once.
struct BubblewrapHost {
  bubblewrap::Machine machine;
  Cgroups cgroups;

  /// For the evidence: program, user, what is enforced and what is not.
  [[nodiscard]] std::string text() const;
};

/// look_at_machine(), and the control groups in folders named `label`. Blocking.
[[nodiscard]] Result<BubblewrapHost> look_at_host(const std::string& label);

struct BubblewrapOptions {
  ProfileContext context;         ///< Network and runtime of an engine are not looked at.
  std::string image_dir;          ///< See common/bubblewrap/image_store.hpp.
  fs::GrowthBudget mount_budget;  ///< Of all rw mounts of a run together.
  Duration dump_grace = std::chrono::seconds(10);  ///< From SIGQUIT to SIGKILL.
  /// The wrapper's own limit beyond the check limit.
  Duration wrapper_slack = std::chrono::seconds(15);
  Duration order_slack = std::chrono::seconds(5);  ///< For the wrapper to reap, flush, say its end.
  Duration kill_budget = std::chrono::seconds(20);  ///< From the kill until nothing is left.
  Duration output_tail = std::chrono::seconds(10);  ///< From the end until the pipes are empty.
  Duration watch_period = std::chrono::milliseconds(100);
};

/// Thread rule: the run loop only, and always the same thread: sandboxes die with the thread that
/// started them. join() before it is destroyed.
class BubblewrapRuns final : public RunPort {
 public:
  using Observer = std::function<void(const RunObservation&)>;

  /// `files`: where blocking directory walks happen.
  BubblewrapRuns(boost::asio::any_io_executor executor, boost::asio::thread_pool& files,
                 BubblewrapHost host, BubblewrapOptions options, Observer observer = {});
  ~BubblewrapRuns() override;

  [[nodiscard]] boost::asio::awaitable<RunReport> run(RunRequest request,
                                                      std::shared_ptr<CancelToken> cancel,
                                                      OutputSink output) override;

  /// Returns when no run is under way. Cancels nothing by itself.
  [[nodiscard]] boost::asio::awaitable<void> join();
  [[nodiscard]] std::set<std::string> live_runs() const;
  /// Runs of which something still lived when their budget was spent; each holds a place.
  [[nodiscard]] std::size_t unremoved_count() const;
  /// Tries again to remove what is left of those.
  void settle();

  /// Implementation detail, public for its own coroutines.
  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cupel::worker
