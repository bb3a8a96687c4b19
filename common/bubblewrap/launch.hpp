/// Starts bubblewrap. Blocking calls only; no thread of its own.
#pragma once

#include "common/bubblewrap/seccomp_filter.hpp"
#include "common/fs/beneath.hpp"
#include "common/sandbox/jail.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cupel::bubblewrap {

/// Standard streams of the sandbox; not taken over.
struct Streams {
  int in = 0;
  int out = 1;
  int err = 2;
};

/// A user of the host that the sandbox belongs to.
struct RunAs {
  std::uint32_t uid = 65534;
  std::uint32_t gid = 65534;
};

struct LaunchRequest {
  sandbox::Jail jail;
  std::vector<CompiledFilter> filters;
  Streams streams;
  /// Closes the host's abstract sockets to the sandbox (Landlock). Errors at the start where the
  /// kernel can't.
  bool scope_sockets = false;
  /// Open cgroup.procs files that the process writes itself into before anything else.
  std::vector<int> cgroups = {};
  /// Resource limits: what setrlimit(2) takes, soft and hard alike.
  std::vector<std::pair<int, std::uint64_t>> limits = {};
  /// Root only: bubblewrap and all that it holds run as this user, who needs no access to the
  /// paths of the jail's mounts. Without it they run as whoever launches.
  std::optional<RunAs> run_as = std::nullopt;
};

/// bubblewrap while it runs. The sandbox ends with it, and it ends when the thread that started it
/// does (PR_SET_PDEATHSIG).
struct Launched {
  pid_t pid = -1;  ///< Of bubblewrap itself: its child and session are others.
  fs::Fd pidfd;    ///< Readable once it has ended.
  fs::Fd status;   ///< What it tells, see StatusReader.
};

/// Where the program is: $PATH doesn't count, since a project may stand in it. Errors: not_found
/// with a hint how to get it.
[[nodiscard]] Result<std::string> find_bwrap();

/// Errors: not_found, io_error, unsafe_sandbox (a filter, Landlock).
[[nodiscard]] Result<Launched> launch(const LaunchRequest& request);

/// Kills bubblewrap and all that it holds, whatever it is at. Its end shows at `pidfd`.
void kill_sandbox(const Launched& launched);

/// What bubblewrap told so far, read from Launched::status.
struct BwrapStatus {
  pid_t child = -1;  ///< Process 1 of the sandbox, seen from here.
  std::optional<int> exit_code =
      std::nullopt;  ///< The command ran and ended so: 128 + n by signal n.
};
/// Takes what can be read now without waiting.
class StatusReader {
 public:
  void read_from(int fd);
  [[nodiscard]] const BwrapStatus& status() const { return status_; }

 private:
  void take(std::string_view line);
  std::string partial_;
  BwrapStatus status_;
};

/// The highest version of Landlock's interface that this kernel has; 0: none.
[[nodiscard]] int landlock_version();
/// From this version on abstract sockets can be scoped.
inline constexpr int kLandlockScopes = 6;

}  // namespace cupel::bubblewrap
