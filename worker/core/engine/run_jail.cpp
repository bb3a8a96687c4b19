#include "worker/core/engine/run_jail.hpp"

#include <utility>

namespace cupel::worker {

namespace {

using sandbox::Mount;
using Kind = sandbox::Mount::Kind;

constexpr unsigned kOpenToAll = 01777;
constexpr std::uint64_t kSysBytes = 4096;  // folders only; nobody writes there

/// The image below, then what is private to the run. Only /tmp and /dev/shm can be written.
std::vector<Mount> base_mounts(const RunRequest& request, const JailHost& host) {
  return {
      {.kind = Kind::ro_bind, .target = "/", .source = host.image_root},
      {.kind = Kind::proc, .target = "/proc"},
      {.kind = Kind::dev, .target = "/dev"},
      {.kind = Kind::tmpfs, .target = "/dev/shm", .size_bytes = kRunShmBytes, .mode = kOpenToAll},
      {.kind = Kind::remount_ro, .target = "/dev"},
      {.kind = Kind::tmpfs, .target = "/sys", .size_bytes = kSysBytes},
      {.kind = Kind::tmpfs,
       .target = "/tmp",
       .size_bytes = run_tmp_bytes(request.limits),
       .mode = kOpenToAll}};
}

}  // namespace

Result<sandbox::Jail> run_jail(const RunRequest& request, const ProfileContext& context,
                               const ImageTraits& image, const JailHost& host) {
  if (const Result<void> checked = check_request(request, image); !checked) return checked.error();
  if (has_network(request) && request.enforced_egress) {
    return Error{.code = Errc::unsafe_sandbox,
                 .what = "bubblewrap can't hold a run to the module proxy",
                 .detail = {},
                 .hint =
                     "use a worker with a container engine, or campaigns without enforced "
                     "egress"};
  }
  Result<std::string> workdir = run_workdir(request);
  if (!workdir) return workdir.error();
  auto environment = profile_environment(request, context, image);
  if (!environment) return environment.error();
  const auto mounts = run_mounts(request, context);
  if (!mounts) return mounts.error();

  sandbox::Jail jail;
  jail.mounts = base_mounts(request, host);
  for (const BoundMount& view : host.views)
    jail.mounts.push_back({.kind = Kind::ro_bind, .target = view.path, .source = view.host_path});
  jail.mounts.push_back({.kind = Kind::remount_ro, .target = "/sys"});
  for (const BoundMount& mount : *mounts) {
    jail.mounts.push_back({.kind = mount.writable ? Kind::bind : Kind::ro_bind,
                           .target = mount.path,
                           .source = mount.host_path});
  }
  jail.environment = std::move(*environment);
  jail.environment["HOSTNAME"] = jail.hostname;  // as an engine sets it
  jail.workdir = std::move(*workdir);
  jail.share_network = has_network(request);
  jail.uid = kContainerUid;
  jail.gid = kContainerUid;
  jail.command_is_pid_1 = true;
  jail.command = {std::string(kWrapperPath)};
  jail.command.insert(jail.command.end(), request.command.begin(), request.command.end());
  return jail;
}

}  // namespace cupel::worker
