/// The fresh bare repository into which git fetches, and the environment in which it does.
#pragma once

#include "common/core/error.hpp"
#include "worker/git/policy.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cupel::worker {

/// Makes the directory (0700) with nothing in it but what a bare repository needs; its config
/// (0600) carries our settings and, for https, the credential as a header bound to scheme, host and
/// path. Errors: already_exists, io_error.
[[nodiscard]] Result<void> make_bare_repository(const std::filesystem::path& dir, const GitUrl& url,
                                                const GitPolicy& policy);

/// The text of that config. Pure.
[[nodiscard]] std::string bare_config(const GitUrl& url, const GitPolicy& policy);

/// Every variable that git gets; nothing is inherited. Pure.
[[nodiscard]] std::vector<std::string> git_environment(const GitUrl& url, const GitPolicy& policy,
                                                       const std::filesystem::path& dir);

}  // namespace cupel::worker
