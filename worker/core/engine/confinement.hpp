/// What holds for every container that the worker makes and starts, whatever runs in it. Pure.
#pragma once

#include "worker/core/engine/container_spec.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace cupel::worker {

struct ContainerBounds {
  std::uint64_t nano_cpus = 0;
  std::uint64_t memory_bytes = 0;  ///< Memory and swap together.
  std::uint64_t processes = 0;
  std::uint64_t open_files = 0;
};

/// A host config without mounts, network and log: read-only root, no capability, no new privilege,
/// the allow-list of system calls, these bounds, and nothing writable that the engine would add.
[[nodiscard]] nlohmann::json confined_host(const ProfileContext& context,
                                           const ContainerBounds& bounds);

/// A create request's body around it: our wrapper as process 1, our user, attached, no terminal.
[[nodiscard]] nlohmann::json attached_body(const std::string& image, nlohmann::json host_config);

[[nodiscard]] nlohmann::json bind_mount(const BoundMount& mount);

/// The name server of the host config leads nowhere, and no domain is searched.
void set_no_names(nlohmann::json& host_config);

[[nodiscard]] Error refused_by_policy(std::string what);
/// A tag can be moved between two sides of a comparison. Errors: refused_by_policy.
[[nodiscard]] Result<void> check_image_identity(const std::string& image);

}  // namespace cupel::worker
