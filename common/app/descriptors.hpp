/// Room for file descriptors: a daemon's sockets and files share one limit, and what is refused
/// beyond it depends on who asks last.
#pragma once

#include <cstdint>

namespace cupel::app {

/// Below that, a few hundred strangers on the port are enough to keep honest peers out.
inline constexpr std::uint64_t kFewDescriptors = 1024;

/// Raises this process's soft limit to its hard one. Returns the limit that holds then.
std::uint64_t raise_descriptor_limit();

/// raise_descriptor_limit, with a warning in the log where the limit stays below kFewDescriptors.
void make_room_for_descriptors();

}  // namespace cupel::app
