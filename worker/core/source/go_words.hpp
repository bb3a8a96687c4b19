/// What the go command's words in an acquire run mean. Pure; tested with recorded output.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// One object of `go mod download -json`.
struct DownloadedModule {
  std::string path;
  std::string version;
  std::string error;
  std::string zip;  ///< Path in the container; empty when there is none.
  std::string go_mod;
  std::string sum;  ///< "h1:..."
};

/// The concatenated objects of stdout. Errors: bad_value when something else stands between them.
[[nodiscard]] Result<std::vector<DownloadedModule>> parse_download_json(std::string_view out);

/// Why an acquire run of the go command failed. `err` is its stderr, `modules` what
/// parse_download_json gave (may be empty). Always answers: what no rule knows is
/// acquire_incomplete with the first line. One finding, its package "module@version" where the
/// words name one:
///   bad_go_mod, bad_go_sum, bad_go_work, checksum_mismatch, module_path_mismatch,
///   requires_newer_toolchain, unsupported_toolchain, replace_outside_repo, work_outside_repo,
///   module_not_found, bad_version_query, upstream, resource_disk, acquire_incomplete.
[[nodiscard]] SourceRefusal judge_go_failure(std::string_view err,
                                             const std::vector<DownloadedModule>& modules);

/// True when every failure is a module that the proxy doesn't have: the unit may not need it.
[[nodiscard]] bool only_missing_modules(std::string_view err,
                                        const std::vector<DownloadedModule>& modules);

}  // namespace cupel::worker
