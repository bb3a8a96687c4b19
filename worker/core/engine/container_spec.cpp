#include "worker/core/engine/container_spec.hpp"

#include "common/sandbox/jail.hpp"
#include "worker/core/engine/confinement.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace cupel::worker {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kMemoryBytesMin = 64 * kMiB;

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

/// "NAME=value" for what the profile sets, and a bare "NAME" for what only the image sets: Docker
/// removes such a variable. HOSTNAME is the engine's own.
Json environment_list(const std::map<std::string, std::string>& environment,
                      const ImageTraits& image, const engine::Quirks& quirks) {
  Json list = Json::array();
  for (const auto& [name, value] : environment) {
    list.push_back(std::string(name).append("=").append(value));
  }
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
  set_no_names(config);
  config["Sysctls"] = {{"net.ipv6.conf.all.disable_ipv6", "1"},
                       {"net.ipv6.conf.default.disable_ipv6", "1"}};
}

Json host_config(const RunRequest& request, const ProfileContext& context, Json mounts,
                 const RunEgress& egress) {
  const RunLimits& limits = request.limits;
  // Docker refuses a share of more processors than its machine has.
  const std::uint64_t cpu_millis =
      context.engine_cpus == 0
          ? limits.cpu_millis
          : std::min<std::uint64_t>(limits.cpu_millis, context.engine_cpus * 1000ULL);
  Json config = confined_host(context, {.nano_cpus = cpu_millis * 1'000'000,
                                        .memory_bytes = limits.memory_bytes,
                                        .processes = limits.pids,
                                        .open_files = kRunOpenFilesMax});
  config["Mounts"] = std::move(mounts);
  config["ShmSize"] = kRunShmBytes;
  config["Tmpfs"]["/tmp"] =
      "rw,nosuid,nodev,exec,mode=1777,size=" + std::to_string(run_tmp_bytes(limits));
  config["LogConfig"] = {
      {"Type", "json-file"},
      {"Config",
       {{"max-size", std::to_string(log_bytes_bound(limits) / 1024) + "k"}, {"max-file", "1"}}}};
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
    return refused_by_policy("'" + request.workdir + "' is no folder below /src");
  return path;
}

Result<std::vector<BoundMount>> run_mounts(const RunRequest& request, const ProfileContext& context,
                                           const RunEgress& egress) {
  Result<std::vector<BoundMount>> mounts = profile_mounts(request);
  if (!mounts) return mounts.error();
  if (!sandbox::is_clean_path(context.wrapper_path))
    return refused_by_policy("the wrapper has no absolute path");
  mounts->insert(mounts->begin(), {context.wrapper_path, std::string(kWrapperPath), false});
  if (has_network(request) && !context.ca_bundle.empty()) {
    if (!sandbox::is_clean_path(context.ca_bundle))
      return refused_by_policy("the CA bundle has no absolute path");
    mounts->push_back({context.ca_bundle, std::string(kCaBundlePath), false});
  }
  if (sees_credentials(request, context, egress)) {
    if (!sandbox::is_clean_path(context.netrc))
      return refused_by_policy("the netrc file has no absolute path");
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
  if (request.command.empty() || request.command.front().empty())
    return refused_by_policy("an empty command");
  if (request.limit <= Duration{}) return refused_by_policy("a run without a time limit");
  if (auto named = check_image_identity(request.image); !named) return named;
  if (!image.facts.volumes.empty()) {
    return Error{.code = Errc::unsafe_sandbox,
                 .what = "the image declares the volume " + image.facts.volumes.front() +
                         ", which would be writable and outlive the run",
                 .detail = {},
                 .hint = {}};
  }
  if (request.limits.cpu_millis == 0 || request.limits.pids == 0 ||
      request.limits.memory_bytes < kMemoryBytesMin || request.limits.tmp_bytes == 0) {
    return refused_by_policy("limits that no command can live with");
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
      return refused_by_policy("profile " + std::string(name(request.profile)) +
                               " needs a directory for " + std::string(column.path));
    }
    if (cell.use == Use::refused) {
      return refused_by_policy("profile " + std::string(name(request.profile)) + " has no " +
                               std::string(column.path));
    }
    if (!sandbox::is_clean_path(host_path)) {
      return refused_by_policy("'" + host_path + "' is no clean absolute path");
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

  Json spec = attached_body(request.image,
                            host_config(request, context, std::move(mount_list), run.egress));
  spec["Env"] = environment_list(*environment, image, context.quirks);
  spec["Cmd"] = request.command;
  spec["WorkingDir"] = *workdir;
  spec["Labels"] = container_labels(request, context, run);
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
