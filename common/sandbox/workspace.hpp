/// The workspace scope: any command in somebody's project, with the rest of the host read-only or
/// hidden. From a request and facts of the host to a jail, and to what it guarantees. Pure; this
/// file and docs/sandbox.md are read together.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/sandbox/jail.hpp"
#include "common/sandbox/syscalls.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::sandbox {

/// What a command may grow to on disk, and how much of the memory its temporary files may take.
struct WorkspaceQuota {
  std::uint64_t cache_bytes = 20ULL << 30U;  ///< All tool caches of the project together.
  std::uint64_t cache_files = 2'000'000;
  std::uint64_t project_bytes = 10ULL << 30U;  ///< Growth of the project during the command.
  std::uint64_t project_files = 1'000'000;
  std::uint64_t reserve_bytes = 1ULL << 30U;  ///< That stay free on the file system.
  std::uint64_t tmp_bytes = 1ULL << 30U;      ///< /tmp, in memory.
};

struct WorkspaceRequest {
  std::vector<std::string> command;
  std::string project;  ///< Absolute, links resolved: writable.
  std::string workdir;  ///< The project or below it.
  bool network = false;
  std::vector<std::string> allow_home;     ///< Names below the home, read-only: ".gitconfig".
  std::vector<std::string> read;           ///< Absolute paths, read-only.
  std::vector<std::string> pass;           ///< Variables of the caller's environment, by name.
  std::map<std::string, std::string> set;  ///< Variables with these values; they win over all.
  WorkspaceQuota quota;
  Duration limit{};  ///< Zero: none.
};

/// A path that exists on the host, its links not followed.
struct PathFact {
  enum class Kind : std::uint8_t { directory, file, link };
  std::string path;
  Kind kind = Kind::directory;
  std::string target = {};  ///< Of a link, as it is written.
};

/// What the adapter finds before every command.
struct WorkspaceFacts {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;                                ///< Links resolved; empty where there is none.
  std::string cache_dir;                           ///< Ours, of this project; links resolved.
  std::map<std::string, std::string> environment;  ///< The caller's.
  std::vector<PathFact> system = {};               ///< Those of system_paths() that exist.
  std::vector<PathFact> secrets = {};              ///< Those of secret_paths() that exist.
  std::vector<PathFact> allowed = {};      ///< For each of allow_home and read: where it really is.
  std::vector<std::string> ca_files = {};  ///< Files that CA variables name and that exist.
  std::string resolver = {};               ///< Where /etc/resolv.conf really is.
  /// What the project's .git is.
  enum class Git : std::uint8_t { none, directory, file } git = Git::none;
  std::vector<std::string> git_present = {};  ///< Those of git_protected() that exist.
  std::string git_link = {};              ///< .git itself or one of these that is a symbolic link.
  std::vector<std::string> sockets = {};  ///< Found below the project and the allowed paths.
  bool sockets_complete = true;           ///< False: too many files to look at them all.
  bool scope_sockets = false;             ///< The kernel can close abstract sockets (Landlock).
};

/// Says of one promise what came of it.
struct Guarantee {
  enum class State : std::uint8_t { enforced, not_enforced, allowed };
  std::string name;  ///< One of a closed list (docs/sandbox.md).
  State state = State::enforced;
  std::string how;  ///< By what, or why not.
};
[[nodiscard]] std::string_view name(Guarantee::State state);

/// Made before the command and removed after it, where it is still empty: what isn't there can't be
/// mounted read-only, and somebody else would make it.
struct Placeholder {
  std::string path;
  bool directory = false;
};

struct WorkspacePlan {
  Jail jail;
  std::vector<const SyscallFilter*> filters;
  bool scope_sockets = false;
  std::vector<std::string> cache_dirs;  ///< To make below facts.cache_dir, 0700.
  std::vector<Placeholder> placeholders;
  std::vector<std::string> must_not_appear;  ///< Removed and reported when the command made them.
  std::vector<Guarantee> guarantees;
  std::vector<std::string> notes;  ///< What a person may miss: programs in a hidden home, ...
};

/// Host paths that tools need, read-only: /usr, /etc and the like.
[[nodiscard]] const std::vector<std::string>& system_paths();
/// Below them, and not for the command even when it runs as root.
[[nodiscard]] const std::vector<std::string>& secret_paths();
/// Below .git: what makes git run programs.
[[nodiscard]] const std::vector<std::string>& git_protected();
/// Variables that name files of certificate authorities.
[[nodiscard]] const std::vector<std::string>& ca_variables();

/// Errors: refused_by_policy (a project that holds the home, the caches or parts of the system),
/// bad_value, usage.
[[nodiscard]] Result<WorkspacePlan> plan_workspace(const WorkspaceRequest& request,
                                                   const WorkspaceFacts& facts);

/// The command's environment: the allow-list, the caches, what was asked for. `notes` gets what was
/// left out for a reason that a person should know.
[[nodiscard]] Result<std::map<std::string, std::string>> workspace_environment(
    const WorkspaceRequest& request, const WorkspaceFacts& facts, std::vector<std::string>& notes);
/// Directories below cache_dir that the environment names.
[[nodiscard]] std::vector<std::string> cache_directories(const std::string& cache_dir);

}  // namespace cupel::sandbox
