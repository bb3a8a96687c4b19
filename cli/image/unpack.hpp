/// Writes a tar stream as files. Blocking.
#pragma once

#include "common/core/error.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace cupel::cli {

/// The next bytes of an archive; empty at its end.
using NextBytes = std::function<Result<std::string>()>;

/// Below `root`, an empty directory: everything belongs to whoever calls, no file can be written or
/// has a set-user-id bit, times and links are as in the archive. No name and no link of the archive
/// leads out of `root`. Errors: what `next` said; io_error, disk_full.
[[nodiscard]] Result<void> unpack_tar(const NextBytes& next, const std::filesystem::path& root);

}  // namespace cupel::cli
