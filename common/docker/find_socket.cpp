#include "common/docker/client.hpp"

#include <sys/stat.h>

namespace cupel::docker {

Result<std::string> find_socket(const std::map<std::string, std::string>& environment) {
  const auto host = environment.find("DOCKER_HOST");
  if (host != environment.end() && !host->second.empty()) {
    if (host->second.starts_with("unix://")) return host->second.substr(7);
    return Error{
        .code = Errc::bad_config,
        .what = "DOCKER_HOST is '" + host->second + "', and only unix:// sockets can be used",
        .detail = {},
        .hint = "name the socket in the worker's configuration (engine_socket)"};
  }
  std::vector<std::string> places = {"/var/run/docker.sock"};
  if (const auto runtime = environment.find("XDG_RUNTIME_DIR"); runtime != environment.end()) {
    places.push_back(runtime->second + "/docker.sock");
    places.push_back(runtime->second + "/podman/podman.sock");
  }
  if (const auto home = environment.find("HOME"); home != environment.end()) {
    for (const char* const below : {"/.docker/run/docker.sock", "/.colima/default/docker.sock",
                                    "/.orbstack/run/docker.sock", "/.rd/docker.sock"}) {
      places.push_back(home->second + below);
    }
  }
  places.emplace_back("/run/podman/podman.sock");
  for (const std::string& place : places) {
    struct stat facts{};
    if (::stat(place.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) return place;
  }
  return Error{.code = Errc::engine_unreachable,
               .what = "no engine's socket at the usual places",
               .detail = {},
               .hint = "start the engine, or name its socket (DOCKER_HOST=unix:///path)"};
}

}  // namespace cupel::docker
