/// The manifests of a unit on the host: read from the snapshot, laid out for the go command, read
/// back. Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/core/finding.hpp"
#include "common/core/task.hpp"
#include "worker/acquire/go_run.hpp"
#include "worker/fs/workspaces.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker {

/// What the unit's manifests were before the go command saw them.
struct Manifests {
  std::string mod_path;  ///< Below the snapshot: "go.mod", "sub/go.mod", or the go.work.
  std::string sum_path;  ///< "go.sum", "sub/go.sum", or the go.work.sum.
  std::string mod;
  std::optional<std::string> sum;
  bool go_line_added = false;  ///< `mod` is as committed; staging has the line.
};

/// Directories for the runs of one acquire, all writable for the container's user.
[[nodiscard]] Result<AcquireMounts> make_mounts(Workspaces& workspaces, const std::string& source);
/// Those of make_mounts(), but for a module cache that was recorded.
void discard_mounts(Workspaces& workspaces, const AcquireMounts& mounts, bool keep_modcache);

/// Reads the unit's manifests from the snapshot and writes staging/go.mod (with `go 1.16` where
/// there is no go line) and go.sum, or staging/go.work (directories made absolute) and go.work.sum.
[[nodiscard]] Result<Manifests> stage_manifests(const std::string& snapshot, const UnitInfo& unit,
                                                const std::string& staging);

/// What the go command completed.
struct Completion {
  std::map<std::string, std::string>
      changed;                 ///< Path below the snapshot, new content. Often empty.
  std::vector<Finding> notes;  ///< go_line_added, go_sum_incomplete, go_mod_updated.
};
[[nodiscard]] Result<Completion> read_completion(const Manifests& before, const UnitInfo& unit,
                                                 const std::string& staging);

struct CacheSize {
  std::uint64_t bytes = 0;
  std::uint32_t modules = 0;  ///< Zips that were downloaded.
};
[[nodiscard]] CacheSize measure_cache(const std::string& modcache);

/// The host's name of a path that the go command printed ("/modcache/..."); nothing when it is
/// none.
[[nodiscard]] std::optional<std::filesystem::path> host_path(const std::string& modcache,
                                                             const std::string& in_container);

}  // namespace cupel::worker
