/// Build caches: a fresh one per validation, seeded with the standard library that a trusted run of
/// the same image compiled. Repository code never writes what a later validation reads.
#pragma once

#include "common/core/settings.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace cupel::worker {

struct FreshCache {
  std::string directory;  ///< Unique, 0777, below a 0700 parent. The caller has it removed.
  std::string how;        ///< "seeded:linked", "seeded:copied" or "empty": for the evidence.
  std::string note;       ///< Why there is no seed though one was asked for; else empty.
};

/// How a fresh cache gets the files of a seed. Links are for runs whose user is not the worker's:
/// an owner could open a read-only file up again, and with it everybody's seed.
enum class SeedFiles : std::uint8_t { linked, copied };

/// Thread rule: the run loop only; linking and copying happen on `files`.
class BuildCaches {
 public:
  /// `data_dir`: holds gocache/, and seeds/ unless `seeds` names another directory, which the
  /// workers of one host (and one user) may share: a lock in it lets one of them build at a time.
  /// Hard links need both on one file system. `limits` and `limit` are those of the seed run.
  BuildCaches(boost::asio::any_io_executor executor, RunPort& runs, boost::asio::thread_pool& files,
              std::filesystem::path data_dir, std::filesystem::path seeds = {},
              RunLimits limits = {}, Duration limit = std::chrono::minutes(20),
              SeedFiles seed_files = SeedFiles::linked);
  ~BuildCaches();

  /// A fresh build cache for one validation (or one custom check). Callers that need a seed which
  /// is being built wait for that one build. When a seed can't be built the cache is empty and says
  /// so. Errors: io_error, disk_full; cancelled.
  [[nodiscard]] boost::asio::awaitable<Result<FreshCache>> fresh(
      std::string image, BuildCache mode, std::shared_ptr<CancelToken> cancel);
  /// Removes half-built seeds and caches of earlier incarnations. At start, before any run.
  [[nodiscard]] boost::asio::awaitable<Result<void>> sweep();

  /// Cancels a seed that is being built and waits for its end. Before the RunPort is destroyed.
  [[nodiscard]] boost::asio::awaitable<void> stop();

  /// Implementation detail, public for its own coroutines.
  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cupel::worker
