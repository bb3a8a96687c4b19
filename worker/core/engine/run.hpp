/// One run: a container from create to remove under one profile. RunRequest says what a caller
/// wants, RunReport what came of it. Neither knows the engine.
#pragma once

#include "common/core/error.hpp"
#include "common/core/ids.hpp"
#include "common/core/outcome.hpp"
#include "common/core/settings.hpp"
#include "common/core/time.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::worker {

/// The rows of the profile table. A profile decides mounts' modes, network, environment.
enum class Profile : std::uint8_t { acquire, mutate, execute, tool };
inline constexpr std::array kProfiles = {Profile::acquire, Profile::mutate, Profile::execute,
                                         Profile::tool};
[[nodiscard]] std::string_view name(Profile profile);

/// A file that the worker keeps in its download cache, whatever else comes and goes there.
inline constexpr std::string_view kDownloadsMarker = "cupel-download-cache";

/// Host directories of a run, by role. Empty = not mounted. The profile decides where each is
/// mounted and whether it is writable; a role that the profile doesn't have is refused.
struct RunMounts {
  std::string source;         ///< /src
  std::string modcache;       ///< /modcache
  std::string gocache;        ///< /gocache
  std::string staging;        ///< /staging
  std::string tools;          ///< /tools
  std::string vulndb;         ///< /vulndb
  std::string fixture_proxy;  ///< /proxy, acquire only: a file proxy instead of the network
  /// /downloads, acquire and mutate with a network: proved modules, asked before the proxies
  std::string downloads;
};

/// How the go command of a run is set up, beyond what the profile fixes.
struct GoMode {
  bool vendored = false;  ///< -mod=vendor
  std::string workspace;  ///< Path of go.work below /src; empty = GOWORK=off
  /// acquire and mutate only: GOWORK=/staging/go.work, a copy of `workspace` whose paths are
  /// absolute, so that go.work.sum can be completed beside it. Still no -mod flag.
  bool workspace_staged = false;
  std::string go_private;
  std::string go_nosumdb;
};

struct RunRequest {
  Profile profile = Profile::execute;
  // Who: become labels (design section 5).
  CampaignId campaign;
  TaskId task;
  Token token;
  TimePoint task_deadline;  ///< Becomes the deadline label (as wall time).
  // What.
  std::vector<std::string> command;  ///< argv; argv[0] as found in the image's PATH.
  std::string workdir;               ///< Below the source; "." = /src.
  std::string image;                 ///< Engine image id (sha256:...), never a tag.
  RunMounts mounts;
  GoMode go;
  RunLimits limits;
  Duration limit{};                   ///< The check limit: dump and kill after it.
  bool dump_goroutines = false;       ///< SIGQUIT to the command's children before the kill.
  CheckKind check = CheckKind::test;  ///< For metrics and log tail.
  bool enforced_egress = false;       ///< A run with a network starts only where that is enforced.
};

/// What one stream kept: the head and the tail of what was written, within output_bytes.
struct Captured {
  std::string bytes;
  std::uint64_t total = 0;  ///< Bytes that the command wrote, by the wrapper's own count.
  bool truncated = false;   ///< Something is missing in the middle.
  bool complete = false;    ///< Engine's copy agrees with the wrapper's byte count.
};

/// Who ended the command.
enum class EndedBy : std::uint8_t {
  itself,
  check_limit,
  wrapper_limit,
  cancelled,
  watcher_disk,
  engine
};

/// What happened. `error` set: the engine or the host failed and nothing below proves anything.
struct RunReport {
  std::optional<Error> error;
  bool started = false;     ///< Start marker with this run's nonce was seen.
  bool end_marker = false;  ///< End trailer with this run's nonce was seen.
  EndedBy ended_by = EndedBy::itself;
  std::int32_t exit_code = -1;  ///< Of the command, by the wrapper.
  std::int32_t signal = 0;      ///< That ended the command, 0 none.
  std::int32_t engine_exit_code = -1;
  bool engine_oom_killed = false;
  std::uint32_t oom_kills = 0;      ///< The cgroup's count, by the wrapper.
  bool pids_limit_hit = false;      ///< cgroup pids.events max > 0, by the wrapper.
  bool pids_counted = false;        ///< The wrapper could read that count.
  bool tmp_full = false;            ///< /tmp was (nearly) full at the end or at any time.
  bool mount_budget_hit = false;    ///< A rw mount went over its bytes or inodes.
  bool leftover_processes = false;  ///< Something still ran when the command had ended.
  /// Ended by a SIGKILL that nobody here asked for, with a healthy engine: the wrapper left no
  /// trailer, and the cause is not known. Out of memory is the usual one.
  bool killed_unasked = false;
  std::uint32_t wait_breaks = 0;  ///< Waits that broke and were made again.
  std::uint32_t log_rereads = 0;  ///< Stored logs read again since they lacked the end.
  Captured out;
  Captured err;
  Duration wall{};
  std::string egress = "none";              ///< "none", "configured" or "enforced": its network.
  std::vector<std::string> egress_refused;  ///< What it asked the proxy for and didn't get.
  std::vector<std::string> notes;           ///< Failed post-run calls and the like.
};

}  // namespace cupel::worker
