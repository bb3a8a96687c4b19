#include "worker/core/engine/container_spec.hpp"

#include "common/sandbox/jail.hpp"
#include "worker/core/engine/seccomp.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace cupel::worker {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kMemoryBytesMin = 64 * kMiB;

Error policy(std::string what) {
  return {.code = Errc::refused_by_policy, .what = std::move(what), .detail = {}, .hint = {}};
}

enum class Use : std::uint8_t { refused, optional, required };

/// One cell of the profile table.
struct Cell {
  Use use = Use::refused;
  bool writable = false;
};

/// One column of the profile table: a mount in the four profiles, in the order of Profile.
struct Column {
  std::string_view path;
  const std::string RunMounts::* role;
  std::array<Cell, 4> cells;  // acquire, mutate, execute, tool
};

constexpr Cell kNever{};
constexpr Cell kNeedsRo{Use::required, false};
constexpr Cell kNeedsRw{Use::required, true};
constexpr Cell kMayRo{Use::optional, false};
constexpr Cell kMayRw{Use::optional, true};

// Design, section 3. The order is the order of the mounts; nothing is mounted above /src.
const std::array<Column, 8>& profile_table() {
  static const std::array<Column, 8> kTable = {{
      {"/src", &RunMounts::source, {kNeedsRo, kNeedsRo, kNeedsRo, kNever}},
      {"/modcache", &RunMounts::modcache, {kNeedsRw, kNeedsRw, kMayRo, kNeedsRw}},
      {"/gocache", &RunMounts::gocache, {kNeedsRw, kNeedsRw, kNeedsRw, kNeedsRw}},
      {"/staging", &RunMounts::staging, {kMayRw, kNeedsRw, kNever, kNever}},
      {"/tools", &RunMounts::tools, {kNever, kNever, kMayRo, kNeedsRw}},
      {"/vulndb", &RunMounts::vulndb, {kNever, kNever, kMayRo, kNever}},
      {"/proxy", &RunMounts::fixture_proxy, {kMayRo, kMayRo, kNever, kNever}},
      {kDownloadsPath, &RunMounts::downloads, {kMayRo, kMayRo, kNever, kNever}},
  }};
  return kTable;
}

Json bind_mount(const BoundMount& mount) {
  // Type bind refuses a missing path; the older "Binds" would create it.
  return {{"Type", "bind"},
          {"Source", mount.host_path},
          {"Target", mount.path},
          {"ReadOnly", !mount.writable},
          {"BindOptions", {{"Propagation", "rprivate"}}}};
}

/// "NAME=value" for what the profile sets, and a bare "NAME" for what only the image sets: Docker
/// removes such a variable. HOSTNAME is the engine's own.
Json environment_list(const std::map<std::string, std::string>& environment,
                      const ImageTraits& image, const engine::Quirks& quirks) {
  Json list = Json::array();
  for (const auto& [name, value] : environment) list.push_back(name + "=" + value);
  if (quirks.foreign_variables) return list;  // the wrapper removes them
  std::vector<std::string> removed;
  for (const std::string& entry : image.facts.environment) {
    std::string name = entry.substr(0, entry.find('='));
    if (name.empty() || name == "HOSTNAME" || environment.contains(name)) continue;
    removed.push_back(std::move(name));
  }
  std::ranges::sort(removed);
  for (std::string& name : removed) list.push_back(std::move(name));
  return list;
}

/// The network of the run. On the egress network the engine's own name server answers for it and
/// would ask the host's; it is given one that leads nowhere, since the proxy resolves names.
void set_network(Json& config, const RunRequest& request, const ProfileContext& context,
                 const RunEgress& egress) {
  if (!has_network(request)) {
    config["NetworkMode"] = "none";
    return;
  }
  if (!egress.joined.empty()) {
    config["NetworkMode"] = "container:" + egress.joined;  // names and hosts are its own too
    return;
  }
  config["NetworkMode"] = egress.enforced ? egress.network : context.egress_network;
  if (!egress.enforced) return;
  config["Dns"] = Json::array({"127.0.0.1"});
  config["DnsSearch"] = Json::array({"."});
  config["DnsOptions"] = Json::array({"timeout:1", "attempts:1"});
  config["Sysctls"] = {{"net.ipv6.conf.all.disable_ipv6", "1"},
                       {"net.ipv6.conf.default.disable_ipv6", "1"}};
}

Json tmpfs_list(const RunLimits& limits, const engine::Quirks& quirks) {
  Json list = {
      {"/tmp", "rw,nosuid,nodev,exec,mode=1777,size=" + std::to_string(run_tmp_bytes(limits))}};
  for (const std::string_view folder : quirks.writable_folders)
    list[std::string(folder)] = "ro,nosuid,nodev,noexec,size=4096";
  return list;
}

Json ulimit_list(const engine::Quirks& quirks) {
  Json list = {{{"Name", "nofile"}, {"Soft", kRunOpenFilesMax}, {"Hard", kRunOpenFilesMax}},
               {{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}};
  if (quirks.processes_max > 0) {
    list.push_back(
        {{"Name", "nproc"}, {"Soft", quirks.processes_max}, {"Hard", quirks.processes_max}});
  }
  return list;
}

Json host_config(const RunRequest& request, const ProfileContext& context, Json mounts,
                 const RunEgress& egress) {
  const RunLimits& limits = request.limits;
  Json security = Json::array({"no-new-privileges"});
  security.push_back("seccomp=" +
                     (context.quirks.seccomp_by_file ? context.seccomp_file : seccomp_profile()));
  Json config = {
      {"Mounts", std::move(mounts)},
      {"ReadonlyRootfs", true},
      {"Privileged", false},
      {"CapDrop", Json::array({"ALL"})},
      {"SecurityOpt", std::move(security)},
      {"IpcMode", "private"},
      {"ShmSize", kRunShmBytes},
      {"Tmpfs", tmpfs_list(limits, context.quirks)},
      {"NanoCpus", std::uint64_t{limits.cpu_millis} * 1'000'000},
      {"Memory", limits.memory_bytes},
      {"MemorySwap", limits.memory_bytes},
      {"PidsLimit", limits.pids},
      {"Ulimits", ulimit_list(context.quirks)},
      {"LogConfig",
       {{"Type", "json-file"},
        {"Config",
         {{"max-size", std::to_string(log_bytes_bound(limits) / 1024) + "k"}, {"max-file", "1"}}}}},
      {"RestartPolicy", {{"Name", "no"}}},
      {"AutoRemove", false},
      {"Init", false},
  };
  set_network(config, request, context, egress);
  const auto runtime = context.runtimes.find(request.profile);
  if (runtime != context.runtimes.end()) config["Runtime"] = runtime->second;
  return config;
}

}  // namespace

Result<std::string> run_workdir(const RunRequest& request) {
  if (request.profile == Profile::tool) return std::string("/tmp");
  if (request.workdir.empty() || request.workdir == ".") return std::string("/src");
  std::string path = "/src/" + request.workdir;
  if (!sandbox::is_clean_path(path))
    return policy("'" + request.workdir + "' is no folder below /src");
  return path;
}

Result<std::vector<BoundMount>> run_mounts(const RunRequest& request, const ProfileContext& context,
                                           const RunEgress& egress) {
  Result<std::vector<BoundMount>> mounts = profile_mounts(request);
  if (!mounts) return mounts.error();
  if (!sandbox::is_clean_path(context.wrapper_path))
    return policy("the wrapper has no absolute path");
  mounts->insert(mounts->begin(), {context.wrapper_path, std::string(kWrapperPath), false});
  if (has_network(request) && !context.ca_bundle.empty()) {
    if (!sandbox::is_clean_path(context.ca_bundle))
      return policy("the CA bundle has no absolute path");
    mounts->push_back({context.ca_bundle, std::string(kCaBundlePath), false});
  }
  if (sees_credentials(request, context, egress)) {
    if (!sandbox::is_clean_path(context.netrc))
      return policy("the netrc file has no absolute path");
    mounts->push_back({context.netrc, std::string(kNetrcPath), false});
  }
  return mounts;
}

Result<std::vector<std::string>> kept_variables(const RunRequest& request,
                                                const ProfileContext& context,
                                                const ImageTraits& image, const RunEgress& egress) {
  if (!context.quirks.foreign_variables) return std::vector<std::string>();
  const auto environment = profile_environment(request, context, image, egress);
  if (!environment) return environment.error();
  std::vector<std::string> names = {"HOSTNAME"};
  for (const auto& [name, value] : *environment) names.push_back(name);
  return names;
}

Result<void> check_request(const RunRequest& request, const ImageTraits& image) {
  if (request.command.empty() || request.command.front().empty()) return policy("an empty command");
  if (request.limit <= Duration{}) return policy("a run without a time limit");
  // A tag can be moved between two sides of a comparison.
  if (!request.image.starts_with("sha256:")) {
    return policy("'" + request.image + "' is no image identity");
  }
  if (!image.facts.volumes.empty()) {
    return Error{.code = Errc::unsafe_sandbox,
                 .what = "the image declares the volume " + image.facts.volumes.front() +
                         ", which would be writable and outlive the run",
                 .detail = {},
                 .hint = {}};
  }
  if (request.limits.cpu_millis == 0 || request.limits.pids == 0 ||
      request.limits.memory_bytes < kMemoryBytesMin || request.limits.tmp_bytes == 0) {
    return policy("limits that no command can live with");
  }
  return {};
}

std::uint64_t run_tmp_bytes(const RunLimits& limits) {
  return std::min(limits.tmp_bytes, limits.memory_bytes / 4 * 3);
}

bool has_network(const RunRequest& request) {
  if (request.profile == Profile::execute) return false;
  return request.profile == Profile::tool || request.mounts.fixture_proxy.empty();
}

bool sees_credentials(const RunRequest& request, const ProfileContext& context,
                      const RunEgress& egress) {
  const bool fetches = request.profile == Profile::acquire || request.profile == Profile::mutate;
  return fetches && request.mounts.fixture_proxy.empty() && !context.netrc.empty() &&
         !egress.enforced;
}

std::uint64_t log_bytes_bound(const RunLimits& limits) {
  // Output is followed while the run goes on; the stored log is the second source. Both streams
  // share one file.
  return limits.output_bytes * 4 + 2 * kMiB;
}

std::string container_name(const ProfileContext& context, const RunIdentity& run) {
  return "cupel-" + context.worker.text() + "-" + run.run_id;
}

std::map<std::string, std::string> container_labels(const RunRequest& request,
                                                    const ProfileContext& context,
                                                    const RunIdentity& run) {
  return {{std::string(label::kFleet), context.fleet.text()},
          {std::string(label::kWorker), context.worker.text()},
          {std::string(label::kIncarnation), std::to_string(context.incarnation.value)},
          {std::string(label::kCampaign), request.campaign.text()},
          {std::string(label::kTask), request.task.text()},
          {std::string(label::kRun), run.run_id},
          {std::string(label::kProfile), std::string(name(request.profile))},
          {std::string(label::kToken), std::to_string(request.token.value)},
          {std::string(label::kDeadline), std::to_string(run.deadline.us / 1'000'000)}};
}

Result<std::vector<BoundMount>> profile_mounts(const RunRequest& request) {
  const auto row = static_cast<std::size_t>(request.profile);
  std::vector<BoundMount> mounts;
  for (const Column& column : profile_table()) {
    const std::string& host_path = request.mounts.*column.role;
    const Cell cell = column.cells.at(row);
    if (host_path.empty()) {
      if (cell.use != Use::required) continue;
      return policy("profile " + std::string(name(request.profile)) + " needs a directory for " +
                    std::string(column.path));
    }
    if (cell.use == Use::refused) {
      return policy("profile " + std::string(name(request.profile)) + " has no " +
                    std::string(column.path));
    }
    if (!sandbox::is_clean_path(host_path)) {
      return policy("'" + host_path + "' is no clean absolute path");
    }
    mounts.push_back({host_path, std::string(column.path), cell.writable});
  }
  return mounts;
}

Result<std::string> container_spec(const RunRequest& request, const ProfileContext& context,
                                   const ImageTraits& image, const RunIdentity& run) {
  if (const Result<void> checked = check_request(request, image); !checked) return checked.error();
  const Result<std::string> workdir = run_workdir(request);
  if (!workdir) return workdir.error();
  const auto environment = profile_environment(request, context, image, run.egress);
  if (!environment) return environment.error();
  const auto mounts = run_mounts(request, context, run.egress);
  if (!mounts) return mounts.error();
  Json mount_list = Json::array();
  for (const BoundMount& mount : *mounts) mount_list.push_back(bind_mount(mount));

  Json spec = {
      {"Image", request.image},
      {"User", kContainerUser},
      {"Env", environment_list(*environment, image, context.quirks)},
      {"Entrypoint", Json::array({kWrapperPath})},
      {"Cmd", request.command},
      {"WorkingDir", *workdir},
      {"Labels", container_labels(request, context, run)},
      {"Healthcheck", {{"Test", Json::array({"NONE"})}}},
      {"Tty", false},
      {"OpenStdin", true},
      {"StdinOnce", true},
      {"AttachStdin", true},
      {"AttachStdout", true},
      {"AttachStderr", true},
      {"HostConfig", host_config(request, context, std::move(mount_list), run.egress)},
  };
  if (run.egress.joined.empty()) spec["Hostname"] = "cupel";  // else that of the container
  // Arguments of a campaign need not be UTF-8.
  return spec.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string inspection_spec(const std::string& image, const ProfileContext& context,
                            const RunIdentity& run) {
  const Json spec = {{"Image", image},
                     {"User", kContainerUser},
                     {"Entrypoint", Json::array({"/never-started"})},
                     {"Labels", container_labels(RunRequest{}, context, run)},
                     {"Healthcheck", {{"Test", Json::array({"NONE"})}}},
                     {"NetworkDisabled", true},
                     {"HostConfig",
                      {{"NetworkMode", "none"},
                       {"ReadonlyRootfs", true},
                       {"CapDrop", Json::array({"ALL"})},
                       {"LogConfig", {{"Type", "none"}, {"Config", Json::object()}}},
                       {"AutoRemove", false}}}};
  return spec.dump();
}

}  // namespace cupel::worker
