/// Memory, processes and processor time of runs, by control groups below the worker's own (version
/// 1 or 2), where the worker may make any. Blocking; files of the kernel only.
#pragma once

#include "common/core/error.hpp"
#include "common/core/settings.hpp"
#include "common/fs/beneath.hpp"
#include "worker/core/engine/container_spec.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

enum class Limited : std::uint8_t { memory, pids, cpu };
inline constexpr std::array kLimited = {Limited::memory, Limited::pids, Limited::cpu};
[[nodiscard]] std::string_view name(Limited what);

/// Where the groups of one controller are made.
struct CgroupPlace {
  Limited what = Limited::memory;
  bool version_2 = false;
  std::string dir;  ///< The folder of this worker's runs; empty: none can be made.
  std::string why;  ///< Then: what is in the way.
};

/// The groups of one run. Its destructor leaves them: remove() is the way, since it can fail.
class RunCgroup {
 public:
  RunCgroup() = default;
  /// For LaunchRequest::cgroups; owned by this.
  [[nodiscard]] std::vector<int> procs() const;
  /// Where the wrapper finds its counts.
  [[nodiscard]] const std::vector<BoundMount>& views() const { return views_; }
  /// Kills what is still in it and removes it. False: something of it still lives; call it again.
  [[nodiscard]] bool remove();

 private:
  friend class Cgroups;
  std::vector<std::string> dirs_;
  std::vector<fs::Fd> procs_;
  std::vector<BoundMount> views_;
};

class Cgroups {
 public:
  /// Looks at this process's own groups and tries them: makes `label` below each and asks for the
  /// limits there. With version 2 the process moves into a group "cupel-worker" beside it, since
  /// one that has processes can't pass controllers on; whoever shares the group moves as well where
  /// it is one of the worker's own user. What an earlier process left in `label` is killed and
  /// removed. `root`: "/" but in tests.
  [[nodiscard]] static Cgroups find(const std::string& label, const std::string& root = "/");
  Cgroups() = default;

  /// Errors: io_error; then nothing is left.
  [[nodiscard]] Result<RunCgroup> make(const std::string& run_id, const RunLimits& limits) const;
  /// Removes the runs' folder; nothing is made afterwards.
  void close();
  [[nodiscard]] bool enforces(Limited what) const;
  /// "memory, pids, cpu by cgroup v1", and "not enforced: memory (why)": for the evidence.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<CgroupPlace> places_;
};

}  // namespace cupel::worker
