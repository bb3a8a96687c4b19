/// What bubblewrap is asked for, as values, and the argument list that says it. Pure.
/// Source of the options' meaning: bwrap(1), version 0.8.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::sandbox {

/// One step of setting up the file system; the order of a list counts.
struct Mount {
  enum class Kind : std::uint8_t {
    ro_bind,
    bind,
    tmpfs,
    proc,
    dev,
    dir,
    symlink,     ///< `source` is what the link says.
    remount_ro,  ///< The mount at `target`, without what is mounted below it.
  };
  Kind kind = Kind::ro_bind;
  std::string target;
  std::string source = {};
  std::uint64_t size_bytes = 0;  ///< tmpfs; 0 = the kernel's default, half of the memory.
  unsigned mode = 0;             ///< tmpfs and dir; 0 = bubblewrap's default, 0755.
  friend bool operator==(const Mount&, const Mount&) = default;
};

struct Jail {
  std::vector<Mount> mounts;
  std::map<std::string, std::string> environment;  ///< Nothing else is in it.
  std::string workdir = "/";
  std::string hostname = "cupel";
  bool share_network = false;
  /// A user namespace in which only this uid and gid exist. Without one bubblewrap must be started
  /// by root, and the command keeps root's uid and only `capabilities`.
  bool user_namespace = true;
  std::uint32_t uid = 65534;
  std::uint32_t gid = 65534;
  bool command_is_pid_1 = false;  ///< Else bubblewrap's own reaper is.
  std::vector<std::string> capabilities = {};
  std::vector<std::string> command;
};

/// Descriptors that bubblewrap inherits.
struct JailFds {
  int status = -1;                ///< Gets what happens, as lines of JSON.
  std::vector<int> seccomp = {};  ///< Compiled filters; all of them hold.
};

/// Every argument behind the program's name. Secrets may stand in it (the environment): it goes
/// over a descriptor (--args), never on a command line. `command` is not in it: bubblewrap takes
/// that from its command line only.
[[nodiscard]] std::vector<std::string> bwrap_arguments(const Jail& jail, const JailFds& fds);

/// As --args wants them: each ended by a zero byte.
[[nodiscard]] std::string joined_arguments(const std::vector<std::string>& arguments);

/// True when `path` is `ancestor` or lies below it. Both absolute and without "..".
[[nodiscard]] bool is_within(std::string_view path, std::string_view ancestor);

/// An absolute path without empty, "." and ".." components, line breaks and zero bytes; not "/".
[[nodiscard]] bool is_clean_path(std::string_view path);

}  // namespace cupel::sandbox
