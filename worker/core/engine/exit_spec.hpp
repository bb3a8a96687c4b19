/// The containers that hold the network of a run where the worker's host can't: an exit container,
/// whose network namespace has loopback and nothing else, and a witness that looks into the same
/// namespace. Pure; read it together with container_spec.hpp.
#pragma once

#include "worker/core/engine/container_spec.hpp"

#include <string>
#include <string_view>

namespace cupel::worker {

namespace label {
inline constexpr std::string_view kExitOf = "cupel.egress.exit_of";  ///< The run that it serves.
}  // namespace label

/// What a run's links in /proc must say for it to be where its exit is.
inline constexpr std::string_view kNetworkLink = "/proc/self/ns/net";

/// The body of the create call of a run's exit container. `exit`: its own identity, so that the
/// reaper takes it for what it is; `run_id`: whose exit it is. It runs the wrapper and nothing of
/// the image, and is confined as a run without network is.
/// Errors: refused_by_policy for an image by tag, or a wrapper without an absolute path.
[[nodiscard]] Result<std::string> exit_spec(const RunRequest& request,
                                            const ProfileContext& context, const RunIdentity& exit,
                                            std::string_view run_id);

/// The same for one that joins the namespace of the container `joined`, says what it sees there and
/// ends.
[[nodiscard]] Result<std::string> witness_spec(const RunRequest& request,
                                               const ProfileContext& context,
                                               const RunIdentity& witness, std::string_view joined);

}  // namespace cupel::worker
