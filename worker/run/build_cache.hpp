/// Build caches: a fresh one per validation, seeded with what trusted runs compiled: the standard
/// library of the image and, if asked for, the dependencies of the module. Repository code never
/// writes what a later validation reads.
#pragma once

#include "common/core/settings.hpp"
#include "worker/ports/run_port.hpp"
#include "worker/run/dependency_seeds.hpp"
#include "worker/run/seed_commands.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker {

struct FreshCache {
  std::string directory;  ///< Unique, 0777, below a 0700 parent. The caller has it removed.
  /// For the evidence: "empty", "seeded:linked" or "seeded:copied", and behind either of these
  /// ", dependencies:linked" or ", dependencies:copied".
  std::string how;
  std::string note;  ///< Why there is no seed, or not the one that was asked for; else empty.
};

/// How a fresh cache gets the files of a seed. Links are for runs whose user is not the worker's:
/// an owner could open a read-only file up again, and with it everybody's seed.
enum class SeedFiles : std::uint8_t { linked, copied };

struct BuildCachesOptions {
  /// Empty: below the data directory. The workers of one host (and one user) may share it: locks in
  /// it let one of them build a seed at a time. Hard links need it on the data directory's file
  /// system.
  std::filesystem::path seeds = {};
  SeedLimits limits = {};
  SeedFiles seed_files = SeedFiles::linked;
  DependencySeedBounds dependencies = {};
};

/// Thread rule: the run loop only; linking and copying happen on `files`.
class BuildCaches {
 public:
  /// `data_dir`: holds gocache/.
  BuildCaches(boost::asio::any_io_executor executor, RunPort& runs, boost::asio::thread_pool& files,
              std::filesystem::path data_dir, BuildCachesOptions options = {});
  ~BuildCaches();

  /// A fresh build cache for one validation (or one custom check). Callers that need a seed which
  /// is being built wait for that one build. When a seed can't be built the cache is made without
  /// it and says so. `dependencies` is looked at in that mode only. Errors: io_error, disk_full;
  /// cancelled.
  [[nodiscard]] boost::asio::awaitable<Result<FreshCache>> fresh(
      std::string image, BuildCache mode, std::shared_ptr<CancelToken> cancel,
      std::optional<DependencyWish> dependencies = {});
  /// Removes half-built seeds and caches of earlier incarnations. At start, before any run. Returns
  /// the directories that stayed, for `empty_directory`: without root, what containers wrote is
  /// theirs to remove. Errors: io_error.
  [[nodiscard]] boost::asio::awaitable<Result<std::vector<std::string>>> sweep();

  /// Cancels a seed that is being built and waits for its end. Before the RunPort is destroyed.
  [[nodiscard]] boost::asio::awaitable<void> stop();

  /// Implementation detail, public for its own coroutines.
  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cupel::worker
