/// Makes each seed once: callers of one process share a build, and workers that share the directory
/// wait for the lock of whoever builds.
#pragma once

#include "common/core/error.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace cupel::worker {

/// A handle: copies are the same builds. Thread rule: the run loop only; locks are taken on
/// `files`.
class SeedBuilds {
 public:
  /// Makes the directory `seed`, whose last file is its marker (see publish_seed()). Called with
  /// the lock held, unless another process made the seed meanwhile.
  using Build =
      std::function<boost::asio::awaitable<Result<void>>(std::shared_ptr<CancelToken> cancel)>;

  SeedBuilds(boost::asio::any_io_executor executor, boost::asio::thread_pool& files);

  /// Empty when the seed is complete; else why there is none: it could not be built (not tried
  /// again for ten minutes), or the caller's `cancel` (may be null) fired, which ends its wait and
  /// not the build. `lock` is the file whose holder may build this seed.
  [[nodiscard]] boost::asio::awaitable<std::string> ensure(std::filesystem::path seed,
                                                           std::filesystem::path lock, Build build,
                                                           std::shared_ptr<CancelToken> cancel);

  /// Cancels what is being built, without a wait.
  void cancel_all();
  /// Cancels what is being built and waits for its end.
  [[nodiscard]] boost::asio::awaitable<void> stop();

  /// Implementation detail, public for its own coroutines.
  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// The seed has its marker: nothing of it changes any more.
[[nodiscard]] bool is_complete_seed(const std::filesystem::path& seed);
/// `scratch` gets its name and, last, its marker with `note` in it: a half-built one is never used.
/// Blocking.
[[nodiscard]] Result<void> publish_seed(const std::filesystem::path& scratch,
                                        const std::filesystem::path& seed, const std::string& note);
/// The marker's file, whose time is that of the last use.
[[nodiscard]] std::filesystem::path seed_marker(const std::filesystem::path& seed);

}  // namespace cupel::worker
