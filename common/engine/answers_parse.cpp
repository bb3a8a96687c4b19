// Bodies of the engine's answers.
#include "common/engine/answers.hpp"
#include "common/engine/json_members.hpp"

#include <nlohmann/json.hpp>

namespace cupel::engine {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kProgressLineBytesMax = std::size_t{64} * 1024;

Error protocol_error(std::string what, std::string_view body) {
  return {.code = Errc::engine_protocol,
          .what = std::move(what),
          .detail = capped_detail(body.substr(0, 512)),
          .hint = {}};
}

Json parse_json(std::string_view body) {
  return Json::parse(body, nullptr, false);
}

std::int64_t number_of(const Json& json, const char* key, std::int64_t fallback) {
  const Json& value = member(json, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : fallback;
}

std::uint64_t size_of(const Json& json, const char* key) {
  const std::int64_t value = number_of(json, key, 0);
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

/// -1 for what no process of this system can end with.
std::int32_t exit_code_of(const Json& json, const char* key) {
  const std::int64_t value = number_of(json, key, -1);
  return value < 0 || value > 255 ? -1 : static_cast<std::int32_t>(value);
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  std::vector<std::string> texts;
  for (const Json& value : member(json, key)) {
    if (value.is_string()) texts.push_back(value.get<std::string>());
  }
  return texts;
}

std::vector<std::string> keys_of(const Json& json, const char* key) {
  std::vector<std::string> all;
  const Json& object = member(json, key);
  if (!object.is_object()) return all;
  for (const auto& [name, value] : object.items()) all.push_back(name);
  return all;
}

std::string engine_name(const Json& json) {
  for (const Json& part : member(json, "Components")) {
    const std::string title = text_of(part, "Name");
    if (title.find("Podman") != std::string::npos) return "podman";
  }
  return "docker";
}

ImageFacts image_of(const Json& json) {
  const Json& config = member(json, "Config");
  return {.id = text_of(json, "Id"),
          .tags = texts_of(json, "RepoTags"),
          .digests = texts_of(json, "RepoDigests"),
          .labels = map_of(config.is_object() ? config : json, "Labels"),
          .environment = texts_of(config, "Env"),
          .volumes = keys_of(config, "Volumes"),
          .architecture = text_of(json, "Architecture"),
          .os = text_of(json, "Os"),
          .size_bytes = size_of(json, "Size")};
}

}  // namespace

Result<EngineVersion> parse_version(std::string_view body) {
  const Json json = parse_json(body);
  const auto api = ApiVersion::parse(text_of(json, "ApiVersion"));
  if (!api) return protocol_error("version: no API version in the engine's answer", body);
  EngineVersion version{.api = *api,
                        .name = engine_name(json),
                        .version = text_of(json, "Version"),
                        .os = text_of(json, "Os"),
                        .arch = text_of(json, "Arch"),
                        .kernel = text_of(json, "KernelVersion")};
  if (*api < kApiMin) {
    return Error{.code = Errc::unsafe_sandbox,
                 .what = "the engine speaks API " + api->text() + " at most, and " +
                         kApiMin.text() + " is the oldest that Cupel can use",
                 .detail = version.name + " " + version.version,
                 .hint = "upgrade the engine (Docker 20.10 or newer, Podman 4.0 or newer)"};
  }
  const auto minimum = ApiVersion::parse(text_of(json, "MinAPIVersion"));
  if (minimum && *minimum > kApiMax) {
    return Error{.code = Errc::unsafe_sandbox,
                 .what = "the engine speaks API " + minimum->text() + " at least, and " +
                         kApiMax.text() + " is the newest that this Cupel knows",
                 .detail = version.name + " " + version.version,
                 .hint = "upgrade Cupel"};
  }
  version.api = std::min(version.api, kApiMax);
  return version;
}

Result<EngineInfo> parse_info(std::string_view body) {
  const Json json = parse_json(body);
  if (!json.is_object()) return protocol_error("info: the engine's answer is no object", body);
  const std::string cgroups = text_of(json, "CgroupVersion");
  return EngineInfo{.id = text_of(json, "ID"),
                    .name = text_of(json, "Name"),
                    .default_runtime = text_of(json, "DefaultRuntime"),
                    .runtimes = keys_of(json, "Runtimes"),
                    .storage_driver = text_of(json, "Driver"),
                    .cgroup_version = cgroups.empty() ? "1" : cgroups,
                    .root_dir = text_of(json, "DockerRootDir"),
                    .operating_system = text_of(json, "OperatingSystem"),
                    .security_options = texts_of(json, "SecurityOptions"),
                    .rootless = flag_of(json, "Rootless"),
                    .cpus = static_cast<std::uint32_t>(size_of(json, "NCPU")),
                    .memory_bytes = size_of(json, "MemTotal"),
                    .memory_limit = flag_of(json, "MemoryLimit"),
                    .swap_limit = flag_of(json, "SwapLimit"),
                    .pids_limit = flag_of(json, "PidsLimit"),
                    .cpu_cfs_quota = flag_of(json, "CpuCfsQuota")};
}

Result<Created> parse_created(std::string_view body) {
  const Json json = parse_json(body);
  Created created{.id = text_of(json, "Id"), .warnings = texts_of(json, "Warnings")};
  if (!is_container_ref(created.id)) {
    return protocol_error("create: no id in the engine's answer", body);
  }
  return created;
}

Result<std::vector<ContainerSummary>> parse_containers(std::string_view body) {
  const Json json = parse_json(body);
  if (!json.is_array()) return protocol_error("list: the engine's answer is no list", body);
  std::vector<ContainerSummary> all;
  all.reserve(json.size());
  for (const Json& item : json) {
    ContainerSummary summary{.id = text_of(item, "Id"),
                             .name = {},
                             .image_id = text_of(item, "ImageID"),
                             .state = text_of(item, "State"),
                             .created_s = number_of(item, "Created", 0),
                             .labels = map_of(item, "Labels")};
    // An entry without an id can't be acted on, and half a list must not pass for a whole one.
    if (!is_container_ref(summary.id)) return protocol_error("list: an entry without an id", body);
    const std::vector<std::string> names = texts_of(item, "Names");
    if (!names.empty()) summary.name = names.front().substr(names.front().starts_with('/') ? 1 : 0);
    all.push_back(std::move(summary));
  }
  return all;
}

Result<ContainerState> parse_container(std::string_view body) {
  const Json json = parse_json(body);
  const Json& state = member(json, "State");
  if (!state.is_object()) return protocol_error("inspect: no state in the engine's answer", body);
  return ContainerState{.status = text_of(state, "Status"),
                        .running = flag_of(state, "Running"),
                        .started_at = text_of(state, "StartedAt"),
                        .oom_killed = flag_of(state, "OOMKilled"),
                        .exit_code = exit_code_of(state, "ExitCode"),
                        .error = capped_detail(text_of(state, "Error")),
                        .labels = map_of(member(json, "Config"), "Labels")};
}

Result<WaitAnswer> parse_wait(std::string_view body) {
  const Json json = parse_json(body);
  const std::int32_t code = exit_code_of(json, "StatusCode");
  if (code < 0) return protocol_error("wait: no exit code in the engine's answer", body);
  // The code beside an error of the wait is a zero that nobody measured.
  if (const std::string error = text_of(member(json, "Error"), "Message"); !error.empty()) {
    return protocol_error("wait: the engine could not wait", error);
  }
  return WaitAnswer{.exit_code = code};
}

Result<ImageFacts> parse_image(std::string_view body) {
  ImageFacts facts = image_of(parse_json(body));
  if (!facts.id.starts_with("sha256:") && facts.id.size() != 64) {
    return protocol_error("image inspect: no id in the engine's answer", body);
  }
  return facts;
}

Result<std::vector<ImageFacts>> parse_images(std::string_view body) {
  const Json json = parse_json(body);
  if (!json.is_array()) return protocol_error("image list: the engine's answer is no list", body);
  std::vector<ImageFacts> all;
  for (const Json& item : json) all.push_back(image_of(item));
  return all;
}

Result<std::vector<TransferProgress>> ProgressLines::feed(std::string_view bytes) {
  std::vector<TransferProgress> all;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    partial_.append(bytes.substr(0, end));
    if (partial_.size() > kProgressLineBytesMax) {
      return protocol_error("a line of progress without an end", partial_);
    }
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(partial_, {});
    if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
    const Json json = parse_json(line);
    if (!json.is_object()) return protocol_error("a line of progress that is no object", line);
    if (const std::string error = text_of(json, "error"); !error.empty()) {
      return Error{.code = Errc::engine_refused,
                   .what = "the engine gave up the transfer",
                   .detail = capped_detail(error),
                   .hint = {}};
    }
    const Json& detail = member(json, "progressDetail");
    all.push_back({.status = text_of(json, "status"),
                   .layer = text_of(json, "id"),
                   .current_bytes = size_of(detail, "current"),
                   .total_bytes = size_of(detail, "total")});
  }
  return all;
}

}  // namespace cupel::engine
