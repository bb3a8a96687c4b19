/// Carries out attempts: from a lease to a TaskResult. Everything here runs on the run loop;
/// blocking file work goes to the file pool, transfers to the bulk loop.
#pragma once

#include "common/async/task_group.hpp"
#include "common/core/message.hpp"
#include "common/images/select.hpp"
#include "worker/app/options.hpp"
#include "worker/app/worker_metrics.hpp"
#include "worker/core/agent/agent.hpp"
#include "worker/downloads/download_filler.hpp"
#include "worker/fs/workspaces.hpp"
#include "worker/ports/run_port.hpp"
#include "worker/run/build_cache.hpp"
#include "worker/validate/validate.hpp"
#include "worker/zmq/bulk_link.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker {

struct AcquireContext;
struct AcquireStopped;
struct BuiltTool;
struct PreparedScan;

/// What an attempt needs of the worker; all of it outlives the runner.
struct RunnerParts {
  boost::asio::io_context& loop;
  boost::asio::thread_pool& files;
  RunPort& runs;
  BuildCaches& caches;
  Workspaces& workspaces;
  DownloadFiller* downloads;  ///< Null: there is no download cache.
  BulkLink& bulk;
  WorkerMetrics& metrics;
  const Options& options;
  std::string engine;   ///< For the evidence: "docker 20.10.24, api 1.41, runc".
  std::string wrapper;  ///< Digest of the wrapper binary, likewise.
  /// The toolchain images that the engine holds at this moment.
  std::function<std::vector<images::Available>()> images;
  /// How long the module proxies are left alone; nothing while they may be asked.
  std::function<boost::asio::awaitable<std::optional<Duration>>()> upstream_pause;
};

class TaskRunner {
 public:
  /// The attempt is over and cleaned up. Called on the run loop, once for each start().
  using OnFinished = std::function<void(TaskResult result)>;
  using OnOutput = std::function<void(LogTail tail)>;

  TaskRunner(RunnerParts parts, OnFinished finished, OnOutput output);
  ~TaskRunner();
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  void start(Lease lease);
  /// The result will be Ending::interrupted. Unknown leases are ignored.
  void cancel(const LiveLease& lease, CancelWhy why);
  [[nodiscard]] std::size_t running() const { return attempts_.size(); }
  /// Cancels all and waits until they are cleaned up.
  [[nodiscard]] boost::asio::awaitable<void> shutdown();

 private:
  struct Attempt;
  using AttemptPtr = std::shared_ptr<Attempt>;

  boost::asio::awaitable<void> carry_out(AttemptPtr attempt);
  boost::asio::awaitable<void> watch_deadline(AttemptPtr attempt);
  boost::asio::awaitable<TaskResult> work(AttemptPtr attempt);
  boost::asio::awaitable<void> wait_for_upstream(AttemptPtr attempt);
  boost::asio::awaitable<TaskResult> acquire_source(AttemptPtr attempt, AcquireSource work);
  boost::asio::awaitable<TaskResult> acquire_modules(AttemptPtr attempt, AcquireModules work);
  boost::asio::awaitable<void> stop_acquire(AttemptPtr attempt, TaskResult* result,
                                            AcquireStopped stopped);
  void share_downloads(const AcquireContext& context, const std::string& commit,
                       WorkspaceSlot slot);
  boost::asio::awaitable<TaskResult> mutate(AttemptPtr attempt, Mutate work);
  boost::asio::awaitable<std::optional<Error>> download_bundles(AttemptPtr attempt, Replace replace,
                                                                std::vector<std::string>* bundles);
  boost::asio::awaitable<TaskResult> execute(AttemptPtr attempt, Execute work);
  boost::asio::awaitable<TaskResult> build_tool(AttemptPtr attempt, BuildTool work);
  boost::asio::awaitable<TaskResult> prove(AttemptPtr attempt);
  boost::asio::awaitable<void> keep_tool(AttemptPtr attempt, BuildTool work, BuiltTool built,
                                         TaskResult* result);
  boost::asio::awaitable<Result<PreparedScan>> prepare_scan(AttemptPtr attempt, ScanInput input,
                                                            std::string source, std::string dir,
                                                            std::string go_version);
  boost::asio::awaitable<Result<std::string>> have_artifact(
      AttemptPtr attempt, Digest digest, std::uint64_t bytes_max,
      std::function<std::optional<std::string>()> find,
      std::function<Result<std::string>(const std::string& file)> keep);
  boost::asio::awaitable<void> upload_logs(AttemptPtr attempt, std::vector<CheckLog> logs,
                                           TaskResult* result);
  boost::asio::awaitable<void> discard(std::string image, std::string directory);
  [[nodiscard]] TaskResult without_image(const Attempt& attempt, const images::Selection& selected,
                                         const UnitInfo& unit) const;
  [[nodiscard]] TaskResult answer(const Attempt& attempt, Outcome outcome, Reason reason,
                                  std::string message) const;

  RunnerParts parts_;
  OnFinished finished_;
  OnOutput output_;
  async::TaskGroup group_;
  std::map<Token, AttemptPtr> attempts_;
};

}  // namespace cupel::worker
