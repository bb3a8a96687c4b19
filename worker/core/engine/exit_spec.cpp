#include "worker/core/engine/exit_spec.hpp"

#include "common/sandbox/jail.hpp"
#include "worker/core/engine/seccomp.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace cupel::worker {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kExitMemoryBytes = 64ULL << 20U;  // 12 MiB of windows, and the engine's own
constexpr unsigned kExitProcessesMax = 8;    // one, and what the engine needs to start it
constexpr unsigned kExitOpenFilesMax = 256;  // a connection each

struct Part {
  std::string_view command;
  std::string network_mode;
  std::map<std::string, std::string> labels;
};

Json exit_ulimits(const engine::Quirks& quirks) {
  const auto limit = [](std::string_view what, std::uint64_t value) {
    return Json{{"Name", what}, {"Soft", value}, {"Hard", value}};
  };
  Json list = Json::array({limit("nofile", kExitOpenFilesMax), limit("core", 0)});
  if (quirks.processes_max > 0) list.push_back(limit("nproc", quirks.processes_max));
  return list;
}

Json exit_host_config(const ProfileContext& context, std::string network_mode) {
  const bool own = network_mode == "none";
  Json security = Json::array({"no-new-privileges"});
  security.push_back("seccomp=" +
                     (context.quirks.seccomp_by_file ? context.seccomp_file : seccomp_profile()));
  Json tmpfs = Json::object();
  for (const std::string_view folder : context.quirks.writable_folders)
    tmpfs[std::string(folder)] = "ro,nosuid,nodev,noexec,size=4096";
  Json config = {
      {"Mounts", Json::array({{{"Type", "bind"},
                               {"Source", context.wrapper_path},
                               {"Target", kWrapperPath},
                               {"ReadOnly", true},
                               {"BindOptions", {{"Propagation", "rprivate"}}}}})},
      {"NetworkMode", std::move(network_mode)},
      {"ReadonlyRootfs", true},
      {"Privileged", false},
      {"CapDrop", Json::array({"ALL"})},
      {"SecurityOpt", std::move(security)},
      {"IpcMode", "private"},
      {"Tmpfs", std::move(tmpfs)},
      {"NanoCpus", 1'000'000'000},
      {"Memory", kExitMemoryBytes},
      {"MemorySwap", kExitMemoryBytes},
      {"PidsLimit", kExitProcessesMax},
      {"Ulimits", exit_ulimits(context.quirks)},
      // What modules consist of goes through its output, and is nobody's log.
      {"LogConfig", {{"Type", "none"}, {"Config", Json::object()}}},
      {"RestartPolicy", {{"Name", "no"}}},
      {"AutoRemove", false},
      {"Init", false},
  };
  if (own) {
    // The run has this container's resolv.conf: it names no server of the host.
    config["Dns"] = Json::array({"127.0.0.1"});
    config["DnsSearch"] = Json::array({"."});
    config["DnsOptions"] = Json::array({"timeout:1", "attempts:1"});
  }
  return config;
}

Result<std::string> body_of(const RunRequest& request, const ProfileContext& context, Part part) {
  const auto policy = [](std::string what) {
    return Error{
        .code = Errc::refused_by_policy, .what = std::move(what), .detail = {}, .hint = {}};
  };
  if (!request.image.starts_with("sha256:"))
    return policy("'" + request.image + "' is no image identity");
  if (!sandbox::is_clean_path(context.wrapper_path))
    return policy("the wrapper has no absolute path");
  const bool own = part.network_mode == "none";
  Json spec = {
      {"Image", request.image},
      {"User", kContainerUser},
      {"Entrypoint", Json::array({kWrapperPath})},
      {"Cmd", Json::array({part.command})},
      {"WorkingDir", "/"},
      {"Labels", std::move(part.labels)},
      {"Healthcheck", {{"Test", Json::array({"NONE"})}}},
      {"Tty", false},
      {"OpenStdin", true},
      {"StdinOnce", true},
      {"AttachStdin", true},
      {"AttachStdout", true},
      {"AttachStderr", true},
      {"HostConfig", exit_host_config(context, std::move(part.network_mode))},
  };
  if (own) spec["Hostname"] = "cupel";
  return spec.dump();
}

}  // namespace

Result<std::string> exit_spec(const RunRequest& request, const ProfileContext& context,
                              const RunIdentity& exit, std::string_view run_id) {
  auto labels = container_labels(request, context, exit);
  labels.emplace(label::kExitOf, run_id);
  return body_of(request, context,
                 {.command = "--exit", .network_mode = "none", .labels = std::move(labels)});
}

Result<std::string> witness_spec(const RunRequest& request, const ProfileContext& context,
                                 const RunIdentity& witness, std::string_view joined) {
  return body_of(request, context,
                 {.command = "--enclosure",
                  .network_mode = "container:" + std::string(joined),
                  .labels = container_labels(request, context, witness)});
}

}  // namespace cupel::worker
