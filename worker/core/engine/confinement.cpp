#include "worker/core/engine/confinement.hpp"

#include "worker/core/engine/seccomp.hpp"

#include <utility>

namespace cupel::worker {
namespace {

using Json = nlohmann::json;

Json ulimit_list(const engine::Quirks& quirks, std::uint64_t open_files) {
  Json list = {{{"Name", "nofile"}, {"Soft", open_files}, {"Hard", open_files}},
               {{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}};
  if (quirks.processes_max > 0) {
    list.push_back(
        {{"Name", "nproc"}, {"Soft", quirks.processes_max}, {"Hard", quirks.processes_max}});
  }
  return list;
}

}  // namespace

Json confined_host(const ProfileContext& context, const ContainerBounds& bounds) {
  Json security = Json::array({"no-new-privileges"});
  security.push_back("seccomp=" +
                     (context.quirks.seccomp_by_file ? context.seccomp_file : seccomp_profile()));
  Json tmpfs = Json::object();
  for (const std::string_view folder : context.quirks.writable_folders)
    tmpfs[std::string(folder)] = "ro,nosuid,nodev,noexec,size=4096";
  return {
      {"ReadonlyRootfs", true},
      {"Privileged", false},
      {"CapDrop", Json::array({"ALL"})},
      {"SecurityOpt", std::move(security)},
      {"IpcMode", "private"},
      {"Tmpfs", std::move(tmpfs)},
      {"NanoCpus", bounds.nano_cpus},
      {"Memory", bounds.memory_bytes},
      {"MemorySwap", bounds.memory_bytes},
      {"PidsLimit", bounds.processes},
      {"Ulimits", ulimit_list(context.quirks, bounds.open_files)},
      {"RestartPolicy", {{"Name", "no"}}},
      {"AutoRemove", false},
      {"Init", false},
  };
}

Json attached_body(const std::string& image, Json host_config) {
  return {
      {"Image", image},
      {"User", kContainerUser},
      {"Entrypoint", Json::array({kWrapperPath})},
      {"Healthcheck", {{"Test", Json::array({"NONE"})}}},
      {"Tty", false},
      {"OpenStdin", true},
      {"StdinOnce", true},
      {"AttachStdin", true},
      {"AttachStdout", true},
      {"AttachStderr", true},
      {"HostConfig", std::move(host_config)},
  };
}

Json bind_mount(const BoundMount& mount) {
  // Type bind refuses a missing path; the older "Binds" would create it.
  return {{"Type", "bind"},
          {"Source", mount.host_path},
          {"Target", mount.path},
          {"ReadOnly", !mount.writable},
          {"BindOptions", {{"Propagation", "rprivate"}}}};
}

void set_no_names(Json& host_config) {
  host_config["Dns"] = Json::array({"127.0.0.1"});
  host_config["DnsSearch"] = Json::array({"."});
  host_config["DnsOptions"] = Json::array({"timeout:1", "attempts:1"});
}

Error refused_by_policy(std::string what) {
  return {.code = Errc::refused_by_policy, .what = std::move(what), .detail = {}, .hint = {}};
}

Result<void> check_image_identity(const std::string& image) {
  if (image.starts_with("sha256:")) return {};
  return refused_by_policy("'" + image + "' is no image identity");
}

}  // namespace cupel::worker
