/// The system calls that a container may make. Pure.
#pragma once

#include <string>

namespace cupel::worker {

/// sandbox::run_filter() in the engine's format.
[[nodiscard]] const std::string& seccomp_profile();

}  // namespace cupel::worker
