/// Validates one side of a unit: runs its checks one after the other and judges them together.
#pragma once

#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "common/core/settings.hpp"
#include "common/core/task.hpp"
#include "common/core/time.hpp"
#include "worker/core/engine/run.hpp"
#include "worker/core/go/judge.hpp"
#include "worker/core/source/notes.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// Makes a fresh build cache for one custom check and gives its host path. The caller removes it
/// when the attempt ends.
using FreshGocache = std::function<boost::asio::awaitable<Result<std::string>>()>;

/// Output of a check while it runs. Called on the run loop.
using CheckOutputSink = std::function<void(CheckKind check, Stream stream, std::uint64_t offset,
                                           std::string_view bytes)>;

struct ValidationInput {
  // Who: goes into the labels of every run.
  CampaignId campaign;
  TaskId task;
  Token token;
  TimePoint task_deadline;
  // What.
  UnitInfo unit;
  ValidationSettings settings;  ///< Already clamped to the worker's bounds.
  SnapshotNotes notes;
  std::string image;          ///< Engine image id.
  bool cgo_available = true;  ///< The image has a C compiler.
  /// source, modcache and gocache (fresh, this validation's own) must be set; a vendored unit has
  /// no modcache of its own but may be given an empty one.
  RunMounts mounts;
  /// Needed only when the settings name custom checks, or for a scan.
  FreshGocache fresh_gocache;
  /// The check scan: mounts.tools and mounts.vulndb hold its scanner and database, unless the
  /// context has a problem.
  std::optional<ScanContext> scan;
  bool only_scan = false;
  std::uint64_t scan_limit_s = 0;
};

/// What a check wrote, for the log artifacts.
struct CheckLog {
  CheckKind check = CheckKind::list;
  std::string name;
  Captured out;
  Captured err;
};

struct ValidationResult {
  Judgement judgement;         ///< outcome cancelled when `cancel` fired.
  std::vector<CheckLog> logs;  ///< Of every check that ran, in order.
};

/// Runs on the run loop. Never throws for what a run can do; cancellation ends the running check
/// and skips the rest. After a run that the engine failed (`RunReport::error`) the remaining checks
/// are not started, since their proof would be worth nothing: see Judgement::fleet_error. `runs`
/// outlives the call.
[[nodiscard]] boost::asio::awaitable<ValidationResult> validate(RunPort& runs,
                                                                ValidationInput input,
                                                                std::shared_ptr<CancelToken> cancel,
                                                                CheckOutputSink sink);

}  // namespace cupel::worker
