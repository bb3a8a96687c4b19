/// Why a task that is open doesn't run right now.
#pragma once

#include "coordinator/core/model.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator {

/// Each is a case in which the scheduler passes the task over; see Machine::explain().
enum class WaitCause : std::uint8_t {
  running,        ///< It runs.
  upstream,       ///< It has a slot and waits there for module proxies that fail.
  returning,      ///< Its worker hasn't come back since the coordinator started.
  cancelling,     ///< Its campaign is being cancelled.
  paused,         ///< Its campaign is paused.
  acquiring,      ///< Its repository is being fetched again.
  tool,           ///< A tool that it needs is not built.
  earlier_task,   ///< An earlier task of its unit isn't done.
  back_off,       ///< It failed and is tried again later.
  max_parallel,   ///< Its campaign runs as many tasks as it may.
  bound,          ///< Its workspace is on one worker.
  no_worker,      ///< None is connected.
  image_missing,  ///< That worker lacks its campaign's image.
  egress,         ///< That worker doesn't enforce egress, and its campaign demands it.
  worker_gone,    ///< Not connected, or not trusted any more.
  draining,
  quarantined,
  disk,         ///< The worker is below its disk watermark.
  resting,      ///< The worker rests for another reason.
  silent,       ///< No sign of life for some heartbeats, or its session has just begun.
  no_slot,      ///< The worker's slots are taken.
  priority,     ///< Work of a larger priority goes first.
  fair_share,   ///< Another owner has had less.
  begun_first,  ///< Work that is bound to the worker goes first.
  order,        ///< Older work goes first.
  next,         ///< Nothing: it is the next one.
};
[[nodiscard]] std::string_view name(WaitCause cause);
inline constexpr std::size_t kWaitCauses = 26;

struct WaitReason {
  WaitCause cause = WaitCause::next;
  std::string text;    ///< One clause for people.
  std::string worker;  ///< Name of the worker that it is about; empty = about the task itself.
  WallTime until;      ///< When it ends by itself; 0 = not known.
};

struct Explanation {
  TaskId task;
  UnitId unit;  ///< 0 for a repository's or a tool's task.
  CampaignId campaign;
  TaskState state = TaskState::queued;
  std::vector<WaitReason> reasons;  ///< The decisive ones first; never empty.
};

/// The first reasons as one sentence.
[[nodiscard]] std::string sentence(const Explanation& explanation);

/// Open tasks of one campaign that wait for the same thing.
struct WaitGroup {
  WaitReason reason;  ///< The decisive one of `example`; those of the others have the same cause.
  TaskId example;
  std::uint64_t tasks = 0;
};

/// Why a campaign doesn't go on faster.
struct CampaignExplanation {
  CampaignId campaign;
  std::uint64_t running = 0;      ///< Tasks that run.
  std::uint64_t waiting = 0;      ///< Open tasks that don't.
  std::uint64_t examined = 0;     ///< How many of these are in the groups: kExaminedMax at most.
  std::vector<WaitGroup> groups;  ///< By cause and worker, the largest first.
};
inline constexpr std::uint64_t kExaminedMax = 1000;

}  // namespace cupel::coordinator
