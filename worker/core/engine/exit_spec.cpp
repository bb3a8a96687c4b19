#include "worker/core/engine/exit_spec.hpp"

#include "common/sandbox/jail.hpp"
#include "worker/core/engine/confinement.hpp"

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

Result<std::string> body_of(const RunRequest& request, const ProfileContext& context, Part part) {
  if (const auto named = check_image_identity(request.image); !named) return named.error();
  if (!sandbox::is_clean_path(context.wrapper_path))
    return refused_by_policy("the wrapper has no absolute path");
  const bool own = part.network_mode == "none";
  Json config = confined_host(context, {.nano_cpus = 1'000'000'000,
                                        .memory_bytes = kExitMemoryBytes,
                                        .processes = kExitProcessesMax,
                                        .open_files = kExitOpenFilesMax});
  config["Mounts"] =
      Json::array({bind_mount({context.wrapper_path, std::string(kWrapperPath), false})});
  config["NetworkMode"] = std::move(part.network_mode);
  // What modules consist of goes through its output, and is nobody's log.
  config["LogConfig"] = {{"Type", "none"}, {"Config", Json::object()}};
  // The run has this container's resolv.conf: it names no server of the host.
  if (own) set_no_names(config);
  Json spec = attached_body(request.image, std::move(config));
  spec["Cmd"] = Json::array({part.command});
  spec["WorkingDir"] = "/";
  spec["Labels"] = std::move(part.labels);
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
