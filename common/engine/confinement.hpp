/// What an engine confines its containers with, beside what each container is told. Pure.
#pragma once

#include "common/core/error.hpp"
#include "common/engine/answers.hpp"

#include <string>

namespace cupel::engine {

struct Confinement {
  bool seccomp = false;
  bool seccomp_unconfined = false;  ///< The engine's default profile is switched off.
  bool apparmor = false;
  bool selinux = false;
  bool user_namespaces = false;  ///< Root in a container is nobody on the host.
  bool rootless = false;         ///< The engine itself is not root.

  /// "seccomp, apparmor, rootless": for people and as evidence; "nothing".
  [[nodiscard]] std::string text() const;
};

/// From SecurityOptions of GET /info: "name=seccomp,profile=builtin", "name=rootless", and before
/// API 1.41 bare names (https://docs.docker.com/reference/api/engine/version/v1.41/, SystemInfo).
[[nodiscard]] Confinement confinement_of(const EngineInfo& info);

/// Errors: unsafe_sandbox for an engine whose containers run unconfined unless told otherwise: no
/// run may depend on nobody having forgotten to tell.
[[nodiscard]] Result<void> check_confined(const Confinement& confinement);

}  // namespace cupel::engine
