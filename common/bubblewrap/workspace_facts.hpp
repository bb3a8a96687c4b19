/// What plan_workspace() needs to know of this host for one request. Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/sandbox/workspace.hpp"

#include <map>
#include <string>

namespace cupel::bubblewrap {

/// The project of a working directory: the nearest folder above it with a .git, but never the home
/// or what lies above it; else the working directory itself.
[[nodiscard]] std::string find_project(const std::string& workdir, const std::string& home);

/// The home of the environment, links resolved; empty where there is none or it doesn't exist.
[[nodiscard]] std::string home_of(const std::map<std::string, std::string>& environment);

/// Errors: not_found (an allowed path that isn't there), refused_by_policy (one that would show
/// more than it names), io_error.
[[nodiscard]] Result<sandbox::WorkspaceFacts> gather_facts(
    const sandbox::WorkspaceRequest& request, std::map<std::string, std::string> environment,
    std::string cache_dir);

}  // namespace cupel::bubblewrap
