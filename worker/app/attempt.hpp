/// What the pieces of the task runner share: one attempt, and the helpers of the attempt_*.cpp
/// files. Run loop only.
#pragma once

#include "worker/acquire/acquire.hpp"
#include "worker/app/egress_witness.hpp"
#include "worker/app/task_runner.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cupel::worker {

inline constexpr Duration kUploadLimit = std::chrono::minutes(2);
inline constexpr Duration kDownloadLimit = std::chrono::minutes(10);

struct TaskRunner::Attempt {
  Attempt(Lease granted, boost::asio::io_context& loop, RunPort& engine)
      : lease(std::move(granted)),
        runs(engine, lease.spec.settings.require_enforced_egress),
        cancel(std::make_shared<CancelToken>()),
        deadline_timer(loop) {}
  Lease lease;
  EgressWitness runs;  ///< Every run that may have a network goes through it.
  std::shared_ptr<CancelToken> cancel;
  CancelWhy why = CancelWhy::requested;
  bool timed_out = false;
  TimePoint deadline;
  WallTime started;
  std::uint64_t downloads_damaged = 0;  ///< DownloadCache::damaged() when it began.
  boost::asio::steady_timer deadline_timer;
  std::vector<std::string> notes;
  [[nodiscard]] LiveLease key() const { return {lease.spec.id, lease.token}; }
};

/// The newest toolchain that is here: for work that belongs to no unit yet. Null: there is none.
[[nodiscard]] const images::Available* newest(const std::vector<images::Available>& all);

[[nodiscard]] AcquireContext context_of(const RunnerParts& parts, RunPort& runs, const Lease& lease,
                                        TimePoint deadline, const images::Available& image);

/// The answer of a pipeline that stopped.
void stop_with(TaskResult& result, AcquireStopped stopped);

[[nodiscard]] CheckLog as_check_log(AcquireLog log, std::string name = "acquire");

}  // namespace cupel::worker
