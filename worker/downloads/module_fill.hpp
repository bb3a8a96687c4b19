/// From a run's module cache into the worker's download cache: only what this host has itself
/// checked against the checksum database. Blocking.
///
/// Neither what the container left (files, names, its own go.sum) nor what the repository says
/// counts for anything but as a hint of what is worth having. `.info` has no sum, so it isn't taken
/// from the run at all: the host asks the module proxy itself, as a run would.
#pragma once

#include "common/core/error.hpp"
#include "common/curl/http_fetch.hpp"
#include "worker/downloads/download_cache.hpp"
#include "worker/downloads/run_modules.hpp"
#include "worker/sumdb/checksum_database.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

namespace cupel::worker {

struct FillCounts {
  std::uint64_t versions = 0;  ///< Of which at least one file was added.
  std::uint64_t bytes = 0;     ///< Added.
  std::uint64_t changed = 0;   ///< Files that are not what the database says.
  std::uint64_t forged = 0;    ///< Answers of the database that prove nothing.
  std::uint64_t unknown = 0;   ///< Versions that the database doesn't have, or files too large.
  std::uint64_t failed = 0;    ///< No answer, or a fault of the disk.
};

struct FillReport {
  FillCounts counts;
  std::vector<Error> errors;  ///< Worth a line in the log; the first few.
};

class ModuleFill {
 public:
  /// References outlive it. `fetch` is for `.info`.
  ModuleFill(DownloadCache& cache, sumdb::ChecksumDatabase& database,
             std::vector<sumdb::ModuleProxy> proxies, curl::Fetch fetch);

  /// One thread at a time. Ends early when the database's answers are forged, when it doesn't
  /// answer, when the disk is full, and when `stop` is set.
  [[nodiscard]] FillReport fill(const std::filesystem::path& modcache,
                                const std::atomic<bool>& stop);

 private:
  /// False: no further version of this run is tried.
  bool take(const RunModules& run, const RunModule& module, FillReport& report);
  Result<std::uint64_t> take_files(const RunModules& run, const RunModule& module,
                                   const sumdb::ModuleSums& sums, FillReport& report);
  Result<std::uint64_t> take_go_mod(const RunModules& run, const sumdb::ModuleVersion& module,
                                    const std::string& sum);
  Result<std::uint64_t> take_zip(const RunModules& run, const sumdb::ModuleVersion& module,
                                 const std::string& sum);
  Result<std::uint64_t> take_info(const sumdb::ModuleVersion& module);

  DownloadCache& cache_;
  sumdb::ChecksumDatabase& database_;
  std::vector<sumdb::ModuleProxy> proxies_;
  curl::Fetch fetch_;
  std::set<sumdb::ModuleVersion> unknown_;  ///< To the database; not asked again for a while.
};

/// The `.info` of a version as this cache hands it out: Version and Time, nothing else. Errors:
/// bad_value for what is no such thing, or is that of another version.
[[nodiscard]] Result<std::string> plain_info(std::string_view answer, const std::string& version);

}  // namespace cupel::worker
