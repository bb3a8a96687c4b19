#include "worker/bubblewrap/launch_plan.hpp"

#include "common/bubblewrap/image_store.hpp"
#include "worker/core/engine/run_jail.hpp"

#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::worker {

namespace {

constexpr const char* kNameServers = "/etc/resolv.conf";

ImageTraits traits_of(const bubblewrap::UnpackedImage& image) {
  ImageTraits traits;
  traits.facts.id = image.id;
  for (const auto& [name, value] : image.labels) {
    if (name == images::kLabelCc) traits.c_compiler = value == "1";
  }
  return traits;
}

/// Threads that a user has now, in every namespace: what RLIMIT_NPROC counts.
std::uint64_t threads_of(uid_t user) {
  std::uint64_t count = 0;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ec)) {
    const std::string name = entry.path().filename().string();
    if (name.empty() || name.front() < '0' || name.front() > '9') continue;
    struct stat facts{};
    if (::stat(entry.path().c_str(), &facts) != 0 || facts.st_uid != user) continue;
    std::error_code gone;
    for (std::filesystem::directory_iterator tasks(entry.path() / "task", gone), last;
         !gone && tasks != last; tasks.increment(gone)) {
      ++count;
    }
  }
  return count;
}

std::vector<std::pair<int, std::uint64_t>> resource_limits(const RunRequest& request,
                                                           const BubblewrapHost& host) {
  std::vector<std::pair<int, std::uint64_t>> limits = {{RLIMIT_NOFILE, kRunOpenFilesMax},
                                                       {RLIMIT_CORE, 0}};
  if (host.cgroups.enforces(Limited::pids)) return limits;
  // Better than none: it stops a fork bomb, though others of the same user count as well.
  const uid_t user = host.machine.run_as ? host.machine.run_as->uid : ::geteuid();
  limits.emplace_back(RLIMIT_NPROC, threads_of(user) + request.limits.pids);
  return limits;
}

std::vector<std::string> missing_limits(const BubblewrapHost& host) {
  std::vector<std::string> notes;
  for (const Limited what : kLimited) {
    if (host.cgroups.enforces(what)) continue;
    notes.push_back("limit of " + std::string(name(what)) +
                    (what == Limited::pids ? " held by RLIMIT_NPROC only" : " not enforced"));
  }
  return notes;
}

}  // namespace

Result<LaunchPlan> plan_launch(const RunRequest& request, const std::string& run_id,
                               WrapperOrders orders, const BubblewrapHost& host,
                               const BubblewrapOptions& options) {
  const auto image = bubblewrap::find_image(options.image_dir, request.image);
  if (!image) return image.error();
  LaunchPlan plan;
  auto cgroup = host.cgroups.make(run_id, request.limits);
  if (!cgroup) return cgroup.error();
  plan.cgroup = std::move(*cgroup);
  JailHost jail_host{.image_root = image->root, .views = plan.cgroup.views()};
  if (has_network(request) && ::access(kNameServers, R_OK) == 0)
    jail_host.views.push_back({kNameServers, kNameServers, false});
  Result<sandbox::Jail> jail = run_jail(request, options.context, traits_of(*image), jail_host);
  Result<RunMarks> marks =
      jail ? RunMarks::place(request, run_id, orders) : Result<RunMarks>(jail.error());
  Result<std::string> encoded = marks ? encode_orders(orders) : Result<std::string>(marks.error());
  if (!encoded) {
    (void)plan.cgroup.remove();
    return encoded.error();
  }
  plan.marks = std::move(*marks);
  plan.orders = std::move(*encoded);
  plan.launch.jail = std::move(*jail);
  plan.launch.filters = host.machine.filters;
  plan.launch.limits = resource_limits(request, host);
  plan.launch.run_as = host.machine.run_as;
  plan.launch.scope_sockets = host.machine.scope_sockets && plan.launch.jail.share_network;
  plan.notes = missing_limits(host);
  return plan;
}

}  // namespace cupel::worker
