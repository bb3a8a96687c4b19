/// The run loop's half of a worker: engine, sandbox, workspaces, attempts, and the watch over their
/// health.
#pragma once

#include "common/async/task_group.hpp"
#include "common/core/message.hpp"
#include "common/images/select.hpp"
#include "worker/app/options.hpp"
#include "worker/app/run_engine.hpp"
#include "worker/app/task_runner.hpp"
#include "worker/app/worker_metrics.hpp"
#include "worker/fs/workspaces.hpp"
#include "worker/run/build_cache.hpp"
#include "worker/zmq/bulk_link.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cupel::worker {

class RunSide {
 public:
  struct Callbacks {
    std::function<void(Capacity)> capacity;  ///< Changed. Called on the run loop.
    TaskRunner::OnFinished finished;
    TaskRunner::OnOutput output;
  };

  RunSide(boost::asio::io_context& loop, boost::asio::thread_pool& files, BulkLink& bulk,
          WorkerMetrics& metrics, const Options& options, Callbacks callbacks);
  ~RunSide();
  RunSide(const RunSide&) = delete;
  RunSide& operator=(const RunSide&) = delete;

  /// Prepares (engine, sweep, images, mount probe) and offers capacity; again after a fault until
  /// it succeeds. Only the first call counts. `earlier_fleet` is reaped as well, where it differs.
  void join(Membership membership, FleetId earlier_fleet);
  void start(Lease lease);
  void cancel(const LiveLease& lease, CancelWhy why);
  /// Ends everything in order; nothing of this object runs afterwards.
  [[nodiscard]] boost::asio::awaitable<void> shutdown();

 private:
  /// What exists once the membership is known.
  struct Parts;

  boost::asio::awaitable<void> prepare(Membership membership, FleetId earlier_fleet);
  boost::asio::awaitable<Result<void>> prepare_once(Membership membership, FleetId earlier_fleet);
  boost::asio::awaitable<Result<void>> probe();
  boost::asio::awaitable<Result<void>> refresh_images();
  boost::asio::awaitable<void> watch_engine();
  boost::asio::awaitable<void> watch_disk();
  [[nodiscard]] bool enforces_egress() const;
  void evict();
  boost::asio::awaitable<void> empty(std::string image, std::vector<std::string> directories);
  void offer();

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& files_;
  BulkLink& bulk_;
  WorkerMetrics& metrics_;
  const Options& options_;
  Callbacks callbacks_;
  std::unique_ptr<RunEngine> engine_;
  std::unique_ptr<Workspaces> workspaces_;
  std::unique_ptr<DownloadFiller> downloads_;  ///< Null: off. Pins workspaces.
  std::unique_ptr<Parts> parts_;
  async::TaskGroup group_;
  std::vector<images::Available> images_;
  Capacity offered_;
  bool joined_ = false;
  bool sent_ = false;
  bool evicting_ = false;
  std::vector<std::string> left_behind_;  ///< By an earlier process: only a container can empty it.
  bool engine_ok_ = false;
  bool probed_ = false;
  bool disk_ok_ = true;
  bool upstream_paused_ = false;
};

}  // namespace cupel::worker
