/// Runs of our own programs that fill the build cache of a seed.
#pragma once

#include "common/core/settings.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cupel::worker {

/// Limits of the runs that build a seed: each run has the whole time.
struct SeedLimits {
  RunLimits each;
  Duration time = std::chrono::minutes(20);
};

struct SeedCommand {
  std::vector<std::string> words;
  /// Ends well with a code that isn't 0 too: vet may have remarks about the standard library, and
  /// what it learnt is kept all the same.
  bool may_remark = false;
};

/// Where a seed is made: src/ with a program of ours and cache/, both of `directory`.
struct SeedScratch {
  std::filesystem::path directory;
  std::string image;
  std::string modcache;  ///< Empty: none is mounted.

  [[nodiscard]] std::string source() const { return (directory / "src").string(); }
  [[nodiscard]] std::string cache() const { return (directory / "cache").string(); }
};

/// Files of src/, by name. Their modes are set, not left to the umask: the container's user must
/// read them. Blocking. Errors: io_error, disk_full (less than 3 GiB are free).
[[nodiscard]] Result<void> make_seed_scratch(
    const SeedScratch& scratch, const std::vector<std::pair<std::string, std::string>>& files);

/// One after the other, in the execute profile: no network, nothing writable but cache/ and /tmp.
/// Stops at the first that ends otherwise than it may. `runs` outlives the call.
[[nodiscard]] boost::asio::awaitable<Result<void>> run_seed_commands(
    RunPort& runs, SeedLimits limits, SeedScratch scratch, std::vector<SeedCommand> commands,
    std::shared_ptr<CancelToken> cancel);

/// Removes what is left of a scratch directory once its seed has its name, or never gets one. What
/// can't be removed now is the next sweep's. `runs` and `files` outlive the call.
[[nodiscard]] boost::asio::awaitable<void> discard_scratch(RunPort& runs,
                                                           boost::asio::thread_pool& files,
                                                           SeedScratch scratch);

/// What a run that should have ended well says when it didn't.
[[nodiscard]] Result<void> seed_run_ended(const RunReport& report, const SeedCommand& command);

}  // namespace cupel::worker
