#include "common/engine/quirks.hpp"

#include "common/engine/confinement.hpp"

#include <algorithm>

namespace cupel::engine {

namespace {

/// The smallest limit of processes that kernels come with: what Podman itself lives under.
constexpr std::uint64_t kPodmanProcesses = 32768;

}  // namespace

Quirks quirks_of(const EngineVersion& version) {
  if (version.name != "podman") return {};
  return {.foreign_variables = true,
          .seccomp_by_file = true,
          .drops_runtime = true,
          .writable_folders = {"/run", "/var/tmp"},
          .processes_max = kPodmanProcesses};
}

Result<void> check_limits(const EngineInfo& info) {
  if (!confinement_of(info).rootless || info.cgroup_version != "1") return {};
  return Error{.code = Errc::unsafe_sandbox,
               .what =
                   "the engine can't hold a container to its limits: it is rootless, and this "
                   "machine has version 1 of the control groups",
               .detail = {},
               .hint =
                   "use version 2 (systemd.unified_cgroup_hierarchy=1) with delegation, or an "
                   "engine that is root"};
}

Result<void> check_runtime(const EngineVersion& version, const EngineInfo& info,
                           const std::string& runtime) {
  if (quirks_of(version).drops_runtime) {
    return Error{.code = Errc::unsafe_sandbox,
                 .what = version.name + " takes no runtime from a container's request, and '" +
                         runtime + "' was asked for",
                 .detail = "it runs everything in " + info.default_runtime,
                 .hint =
                     "name the runtime in its own configuration (containers.conf), and leave "
                     "the worker's setting runtimes empty"};
  }
  if (std::ranges::find(info.runtimes, runtime) != info.runtimes.end()) return {};
  std::string listed;
  for (const std::string& known : info.runtimes) listed += (listed.empty() ? "" : ", ") + known;
  return Error{.code = Errc::unsafe_sandbox,
               .what = "the engine has no runtime '" + runtime + "'",
               .detail = "it has: " + (listed.empty() ? "none that it names" : listed),
               .hint =
                   "tell the engine of it (dockerd --add-runtime), or change the worker's "
                   "setting runtimes"};
}

}  // namespace cupel::engine
