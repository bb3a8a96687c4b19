/// Seeds with the compiled dependencies of a module: objects that the go command made of verified
/// modules, in runs that execute nothing of any module and see nothing of the repository but its
/// manifests. Which packages, and under which key: worker/core/seeds. The argument:
/// docs/security.md.
#pragma once

#include "common/core/settings.hpp"
#include "common/core/task.hpp"
#include "worker/core/seeds/eviction.hpp"
#include "worker/run/seed_builds.hpp"
#include "worker/run/seed_commands.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cupel::worker {

/// The module whose dependencies are wanted.
struct DependencyWish {
  std::string source;    ///< The snapshot, mounted at /src while its imports are listed.
  std::string modcache;  ///< What acquire downloaded and verified.
  UnitInfo unit;
  std::vector<std::string> packages;  ///< The patterns of the checks.
  std::vector<std::string> tags;
  bool race = false;
};

/// Bytes are those of a seed beyond the standard library's; 0: no such seeds are made.
using DependencySeedBounds = seeds::SeedBounds;
inline constexpr std::size_t kDependencySeedsMax = 1000;

struct DependencySeed {
  std::string
      cache;         ///< Directory of objects to add to those of the standard library; empty: none.
  std::string note;  ///< Why there is none, where that is worth telling.
};

/// Thread rule: the run loop only; files are read and moved on `files`.
class DependencySeeds {
 public:
  struct Parts {
    RunPort& runs;
    boost::asio::thread_pool& files;
    SeedBuilds builds;
    std::filesystem::path root;  ///< Workers of one host may share it.
    SeedLimits limits;
    DependencySeedBounds bounds;
    bool linking = true;  ///< See SeedFiles.
  };

  explicit DependencySeeds(Parts parts) : parts_(std::make_shared<Parts>(std::move(parts))) {}

  /// `standard`: the cache of the image's complete standard seed, which stays as long as the call.
  [[nodiscard]] boost::asio::awaitable<DependencySeed> seed_for(
      std::string image, std::string standard, DependencyWish wish,
      std::shared_ptr<CancelToken> cancel);
  /// Removes what earlier incarnations left half-built. Blocking.
  [[nodiscard]] static Result<std::vector<std::string>> sweep(const std::filesystem::path& root);

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cupel::worker
