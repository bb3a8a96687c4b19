/// The directory of ours that holds a project's tool caches. Below the user's cache directory, one
/// for each project: ROOT/NAME-DIGEST/{lock,project,cache/}. The command sees cache/ only.
/// Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/fs/files.hpp"
#include "common/fs/growth_watch.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cupel::bubblewrap {

/// $XDG_CACHE_HOME/cupel/sandbox, else $HOME/.cache/cupel/sandbox. Errors: bad_config (neither).
[[nodiscard]] Result<std::filesystem::path> cache_root(
    const std::map<std::string, std::string>& environment);

/// A project's caches, in use: nobody cleans them meanwhile.
struct ProjectCache {
  std::string dir;  ///< cache/, links resolved.
  fs::FileLock lock;
};
/// Made where it isn't there. Errors: locked (being cleaned), io_error, disk_full.
[[nodiscard]] Result<ProjectCache> open_project_cache(const std::filesystem::path& root,
                                                      const std::string& project);

struct CacheEntry {
  std::string project;  ///< As it was when the caches were made; empty when nobody knows.
  std::filesystem::path dir;
  WallTime used;  ///< When a command last began or ended.
};
[[nodiscard]] std::vector<CacheEntry> list_caches(const std::filesystem::path& root);

struct CleanCounts {
  std::vector<CacheEntry> removed;
  std::vector<CacheEntry> in_use;
  fs::DiskUsage freed;
};
/// Removes these caches, but for those that a command uses now. Errors: io_error.
[[nodiscard]] Result<CleanCounts> clean_caches(const std::vector<CacheEntry>& entries);

/// What another user may not have put between: an absolute path with its links resolved.
[[nodiscard]] Result<std::string> resolved(const std::string& path);

}  // namespace cupel::bubblewrap
