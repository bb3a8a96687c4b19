#include "worker/bubblewrap/cgroups.hpp"

#include "common/fs/files.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::worker {

namespace {

constexpr std::uint64_t kFileBytesMax = 1U << 20U;
constexpr std::uint32_t kPeriodUs = 100'000;
/// bubblewrap's own process beside the run's.
constexpr std::uint32_t kKeepers = 1;
/// Where this process, and what shares its group, goes in version 2.
constexpr const char* kBeside = "cupel-worker";
constexpr int kMoveTries = 5;

/// One cgroup hierarchy as this process sees it.
struct Hierarchy {
  std::string controllers;  ///< Comma-separated; empty for version 2.
  std::string own;          ///< The process's own group below the mount.
};

/// For the evidence.
std::string one_line(const Error& error) {
  return error.what + ": " + error.detail;
}

Result<void> write_value(const std::string& file, const std::string& value) {
  const fs::Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd && ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size()))
    return {};
  return Error{.code = Errc::io_error,
               .what = "can't write '" + value + "' to " + file,
               .detail = std::strerror(errno),
               .hint = {}};
}

bool has_word(const std::string& list, std::string_view word, char separator) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, separator);) {
    while (!one.empty() && one.back() == '\n') one.pop_back();
    if (one == word) return true;
  }
  return false;
}

/// Lines "9:memory:/path" of /proc/self/cgroup: the group of this process under a controller, or
/// that of version 2 for an empty one.
std::optional<std::string> own_group(const std::string& groups, std::string_view controller) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool same =
        controller.empty() ? controllers.empty() : has_word(controllers, controller, ',');
    if (same) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The mounted folder of that group: the mount whose options name the controller (its type, for
/// version 2), and the way from the mount's root to the group.
std::optional<std::string> folder_of(const std::string& mounts, std::string_view controller,
                                     const std::string& group) {
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    std::string skip;
    std::string base;
    std::string point;
    std::string type;
    std::string options;
    before >> skip >> skip >> skip >> base >> point;
    after >> type >> skip >> options;
    const bool right = controller.empty() ? type == "cgroup2"
                                          : type == "cgroup" && has_word(options, controller, ',');
    if (!right) continue;
    if (base != "/" && group.starts_with(base)) return point + group.substr(base.size());
    return base == "/" && group != "/" ? point + group : point;
  }
  return std::nullopt;
}

/// What is still in the group gets the kernel's last word.
void kill_members(const std::string& dir) {
  std::ifstream procs(dir + "/cgroup.procs");
  for (pid_t pid = 0; procs >> pid;) {
    if (pid > 0) ::kill(pid, SIGKILL);
  }
}

/// The runs' folder, empty. Groups of an earlier process are killed; what doesn't go is left.
bool open_folder(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0755) == 0) return true;
  if (errno != EEXIST) return false;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(dir, ec)) {
    if (!entry.is_directory(ec)) continue;
    kill_members(entry.path().string());
    ::rmdir(entry.path().c_str());
  }
  return ::access(dir.c_str(), W_OK) == 0;
}

std::vector<std::pair<std::string, std::string>> values_of(const CgroupPlace& place,
                                                           const RunLimits& limits) {
  const std::string memory = std::to_string(limits.memory_bytes);
  const std::string quota = std::to_string(std::uint64_t{limits.cpu_millis} * (kPeriodUs / 1000));
  switch (place.what) {
    case Limited::pids: return {{"pids.max", std::to_string(limits.pids + kKeepers)}};
    case Limited::memory:
      // Without accounting of swap there is no second file, and with it no swap beside the memory.
      if (place.version_2) return {{"memory.max", memory}, {"memory.swap.max", "0"}};
      return {{"memory.limit_in_bytes", memory}, {"memory.memsw.limit_in_bytes", memory}};
    case Limited::cpu:
      if (place.version_2) return {{"cpu.max", quota + " " + std::to_string(kPeriodUs)}};
      return {{"cpu.cfs_period_us", std::to_string(kPeriodUs)}, {"cpu.cfs_quota_us", quota}};
  }
  return {};
}

bool is_optional(const std::string& file) {
  return file == "memory.swap.max" || file == "memory.memsw.limit_in_bytes";
}

Result<void> limit_group(const CgroupPlace& place, const std::string& dir,
                         const RunLimits& limits) {
  for (const auto& [file, value] : values_of(place, limits)) {
    const std::string path = dir + "/" + file;
    if (is_optional(file) && ::access(path.c_str(), F_OK) != 0) continue;
    if (const Result<void> written = write_value(path, value); !written) return written;
  }
  return {};
}

/// All processes of `from` into its subgroup `to`. Some may come or end meanwhile.
void move_members(const std::string& from, const std::string& to) {
  std::ifstream procs(from + "/cgroup.procs");
  for (pid_t pid = 0; procs >> pid;) (void)write_value(to + "/cgroup.procs", std::to_string(pid));
}

/// True where a user's own service manager made the group: what is in it is this user's to arrange.
bool is_of_own_user(const std::string& group) {
  struct stat facts{};
  return ::geteuid() != 0 && ::stat(group.c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
}

/// Makes `own` a group without processes and passes `wanted` on. Empty: done, else what is in the
/// way.
std::string clear_and_pass_on(const std::string& own, const std::string& wanted) {
  const std::string beside = own + "/" + kBeside;
  if (::mkdir(beside.c_str(), 0755) != 0 && errno != EEXIST)
    return "can't make " + beside + ": " + std::strerror(errno);
  if (const auto moved = write_value(beside + "/cgroup.procs", "0"); !moved)
    return one_line(moved.error());
  // A local fleet's other processes, and whatever started it, are in a scope's group as well.
  auto passed = write_value(own + "/cgroup.subtree_control", wanted);
  for (int tried = 0; !passed && tried < kMoveTries && is_of_own_user(own); ++tried) {
    move_members(own, beside);
    passed = write_value(own + "/cgroup.subtree_control", wanted);
  }
  if (passed) return {};
  (void)write_value(own + "/cgroup.procs", "0");
  ::rmdir(beside.c_str());
  return one_line(passed.error());
}

/// Version 2: the controllers reach the runs' folder only through a group without processes.
std::string pass_controllers_on(const std::string& own, const std::string& dir) {
  const auto offered = fs::read_file(own + "/cgroup.controllers", kFileBytesMax);
  if (!offered) return "no controllers in " + own;
  std::string wanted;
  for (const Limited what : kLimited) {
    if (!has_word(*offered, name(what), ' ')) continue;
    wanted += (wanted.empty() ? "+" : " +") + std::string(name(what));
  }
  if (wanted.empty()) return "no controllers in " + own;
  if (!write_value(own + "/cgroup.subtree_control", wanted)) {
    if (std::string why = clear_and_pass_on(own, wanted); !why.empty()) return why;
  }
  if (!open_folder(dir)) return "can't make " + dir + ": " + std::strerror(errno);
  if (const auto passed = write_value(dir + "/cgroup.subtree_control", wanted); !passed)
    return one_line(passed.error());
  return {};
}

/// Makes a group and asks for small limits: what a mount's options say is not what may be done.
std::string try_out(const CgroupPlace& place) {
  const std::string trial = place.dir + "/trial";
  if (::mkdir(trial.c_str(), 0755) != 0 && errno != EEXIST)
    return "can't make " + trial + ": " + std::strerror(errno);
  const Result<void> limited = limit_group(place, trial, RunLimits{});
  ::rmdir(trial.c_str());
  return limited ? std::string() : one_line(limited.error());
}

CgroupPlace find_place(Limited what, const std::string& label, const std::string& groups,
                       const std::string& mounts, const std::string& root) {
  CgroupPlace place{.what = what, .version_2 = false, .dir = {}, .why = {}};
  const std::string prefix = root == "/" ? "" : root;
  auto group = own_group(groups, name(what));
  auto own = group ? folder_of(mounts, name(what), *group) : std::nullopt;
  if (!own) {
    group = own_group(groups, {});
    // An earlier look of this process, or of one that started it, moved it there.
    const std::string moved = std::string("/") + kBeside;
    if (group && group->ends_with(moved)) group->resize(group->size() - moved.size());
    if (group && group->empty()) group = "/";
    own = group ? folder_of(mounts, {}, *group) : std::nullopt;
    place.version_2 = own.has_value();
  }
  if (!own) {
    place.why = "no control groups are mounted";
    return place;
  }
  // Its own group, else the mount's root, where an engine makes its own as well.
  for (const std::string& above :
       {*own, *folder_of(mounts, place.version_2 ? "" : name(what), "/")}) {
    const std::string dir = prefix + above + "/" + label;
    std::string why;
    if (place.version_2) {
      why = pass_controllers_on(prefix + above, dir);
    } else if (!open_folder(dir)) {
      why = "can't make " + dir + ": " + std::strerror(errno);
    }
    place.dir = dir;
    if (why.empty()) why = try_out(place);
    if (why.empty()) {
      place.why.clear();
      return place;
    }
    if (place.why.empty()) place.why = why;
    place.dir.clear();
  }
  return place;
}

}  // namespace

std::string_view name(Limited what) {
  switch (what) {
    case Limited::memory: return "memory";
    case Limited::pids: return "pids";
    case Limited::cpu: return "cpu";
  }
  return "";
}

std::vector<int> RunCgroup::procs() const {
  std::vector<int> all;
  for (const fs::Fd& fd : procs_) all.push_back(fd.get());
  return all;
}

bool RunCgroup::remove() {
  procs_.clear();
  std::erase_if(dirs_, [](const std::string& dir) {
    if (::rmdir(dir.c_str()) == 0 || errno == ENOENT) return true;
    kill_members(dir);
    return ::rmdir(dir.c_str()) == 0;
  });
  return dirs_.empty();
}

Cgroups Cgroups::find(const std::string& label, const std::string& root) {
  const std::string proc = (root == "/" ? "" : root) + "/proc/self";
  const auto groups = fs::read_file(proc + "/cgroup", kFileBytesMax);
  const auto mounts = fs::read_file(proc + "/mountinfo", kFileBytesMax);
  Cgroups all;
  for (const Limited what : kLimited) {
    all.places_.push_back(find_place(what, label, groups ? *groups : std::string(),
                                     mounts ? *mounts : std::string(), root));
  }
  return all;
}

Result<RunCgroup> Cgroups::make(const std::string& run_id, const RunLimits& limits) const {
  RunCgroup made;
  for (const CgroupPlace& place : places_) {
    if (place.dir.empty()) continue;
    const std::string dir = place.dir + "/" + run_id;
    const bool seen = std::ranges::find(made.dirs_, dir) != made.dirs_.end();
    if (!seen) {
      if (::mkdir(dir.c_str(), 0755) != 0) {
        const int why = errno;
        (void)made.remove();
        return Error{Errc::io_error, "can't make the control group " + dir, std::strerror(why), {}};
      }
      made.dirs_.push_back(dir);
    }
    if (const auto limited = limit_group(place, dir, limits); !limited) {
      (void)made.remove();
      return limited.error();
    }
    if (seen) continue;
    made.procs_.emplace_back(::open((dir + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!made.procs_.back()) {
      const int why = errno;
      (void)made.remove();
      return Error{Errc::io_error, "can't use the control group " + dir, std::strerror(why), {}};
    }
    // The wrapper looks where an engine would show them.
    if (place.version_2) {
      made.views_.push_back({dir, "/sys/fs/cgroup", false});
    } else if (place.what != Limited::cpu) {
      made.views_.push_back({dir, "/sys/fs/cgroup/" + std::string(name(place.what)), false});
    }
  }
  return made;
}

void Cgroups::close() {
  for (const CgroupPlace& place : places_) {
    if (!place.dir.empty()) ::rmdir(place.dir.c_str());
  }
}

bool Cgroups::enforces(Limited what) const {
  return std::ranges::any_of(
      places_, [&](const CgroupPlace& place) { return place.what == what && !place.dir.empty(); });
}

std::string Cgroups::text() const {
  std::string held;
  std::string missing;
  for (auto place = places_.begin(); place != places_.end(); ++place) {
    std::string& list = place->dir.empty() ? missing : held;
    list += (list.empty() ? "" : ", ") + std::string(name(place->what));
    if (!place->dir.empty()) {
      list += place->version_2 ? " v2" : " v1";
      continue;
    }
    // Most often one reason is that of all: it is said once.
    const auto next = std::next(place);
    if (next == places_.end() || !next->dir.empty() || next->why != place->why)
      list += " (" + place->why + ")";
  }
  std::string all = held.empty() ? "no control groups" : "control groups: " + held;
  if (!missing.empty()) all += "; not enforced: " + missing;
  return all;
}

}  // namespace cupel::worker
