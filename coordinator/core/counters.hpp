/// Numbers that the coordinator's core counts; the app turns them into metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cupel::coordinator {

inline constexpr std::size_t kTaskKinds = 4;
inline constexpr std::size_t kOutcomes = 5;
inline constexpr std::size_t kVerdicts = 12;
inline constexpr std::size_t kFromWorkerTypes =
    5;                                            ///< Alternatives of ToCoordinator, in its order.
inline constexpr std::size_t kToWorkerTypes = 8;  ///< Alternatives of ToWorker, in its order.

/// Grow only, from 0 at the machine's start.
struct Counters {
  std::array<std::uint64_t, kFromWorkerTypes> received{};
  std::array<std::uint64_t, kToWorkerTypes> sent{};
  std::uint64_t malformed = 0;
  std::uint64_t untrusted = 0;        ///< From keys that are not on the trust list.
  std::uint64_t rate_limited = 0;     ///< Dropped: over the rate of one peer.
  std::uint64_t without_session = 0;  ///< Answered by HelloAgain.
  std::uint64_t identity_lies = 0;    ///< A worker id that belongs to another key.

  std::uint64_t sessions_accepted = 0;
  std::uint64_t sessions_duplicate = 0;  ///< A second process with a key that is in use.
  std::uint64_t sessions_version = 0;
  std::uint64_t sessions_taken_over = 0;
  std::uint64_t workers_lost = 0;  ///< Silent for a whole lease without a goodbye.

  std::uint64_t leases_granted = 0;
  std::uint64_t leases_expired = 0;
  std::uint64_t leases_renewed = 0;
  std::uint64_t leases_overrun = 0;  ///< Renewed beyond what their task may take.
  std::uint64_t fenced_renewals = 0;
  std::uint64_t fenced_results = 0;
  std::uint64_t fenced_logs = 0;
  std::uint64_t results_repeated = 0;  ///< Of a result that had been accepted.

  std::uint64_t retries_worker_lost = 0;
  std::uint64_t retries_interrupted = 0;
  std::uint64_t retries_lost_workspace = 0;
  std::uint64_t retries_timeout = 0;
  std::uint64_t retries_upstream = 0;
  std::uint64_t retries_overrun = 0;
  std::uint64_t retries_undelivered =
      0;  ///< A lease that never reached its worker: not counted against the task.
  std::uint64_t holders_replaced = 0;    ///< Repositories acquired again elsewhere.
  std::uint64_t repositories_moved = 0;  ///< To another worker, so that it repeats a difference.
  std::uint64_t baselines_reused = 0;    ///< Before sides taken over from earlier campaigns.
  std::uint64_t dead_letters = 0;
  std::uint64_t dead_letters_replayed = 0;
  std::uint64_t dead_letters_dropped = 0;

  std::uint64_t quarantines_operator = 0;
  std::uint64_t quarantines_automatic = 0;  ///< Failed probes are not counted again.
  std::uint64_t releases = 0;
  std::uint64_t probes_sent = 0;
  std::uint64_t probes_passed = 0;
  std::uint64_t probes_failed = 0;
  std::uint64_t probes_lost = 0;  ///< Their worker's session ended first.

  std::array<std::array<std::uint64_t, kOutcomes>, kTaskKinds> tasks_completed{};
  std::array<std::uint64_t, kVerdicts> units_finished{};
  std::uint64_t campaigns_finished = 0;
  std::uint64_t campaigns_cancelled = 0;
  std::uint64_t batches = 0;
  std::uint64_t transitions = 0;
};

/// Counted when asked.
struct Gauges {
  std::array<std::uint64_t, kTaskKinds> queued{};
  std::array<std::uint64_t, kTaskKinds> running{};
  std::uint64_t blocked = 0;
  std::uint64_t delayed = 0;         ///< Of queued: waiting for their back-off.
  std::int64_t oldest_ready_us = 0;  ///< WallTime of the oldest task that waits for a slot; 0 none.
  std::uint64_t slots = 0;
  std::uint64_t slots_used = 0;
  std::uint64_t workers_idle = 0;
  std::uint64_t workers_busy = 0;
  std::uint64_t workers_draining = 0;
  std::uint64_t workers_blocked = 0;
  std::uint64_t workers_quarantined = 0;
  std::uint64_t workers_lost = 0;
  std::uint64_t campaigns_running = 0;
  std::uint64_t campaigns_paused = 0;
  std::uint64_t batches_pending = 0;
};

}  // namespace cupel::coordinator
