#include "worker/run/build_cache.hpp"

#include "common/fs/files.hpp"
#include "worker/run/offload.hpp"
#include "worker/run/seed_files.hpp"
#include "worker/run/standard_seed.hpp"

#include <filesystem>
#include <optional>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;

namespace {

constexpr std::string_view kLockFile = "lock";
constexpr std::string_view kDependencies = "dependencies";

}  // namespace

struct BuildCaches::Impl {
  RunPort& runs;
  asio::thread_pool& files;
  stdfs::path seeds;
  stdfs::path fresh_root;
  SeedLimits limits;
  bool linking = true;
  SeedBuilds builds;
  DependencySeeds dependencies;

  /// One directory an image: the engine's id without its algorithm.
  [[nodiscard]] stdfs::path seed_of(const std::string& image) const {
    const std::size_t colon = image.find(':');
    return seeds / (image.substr(colon == std::string::npos ? 0 : colon + 1).substr(0, 32) + "-" +
                    std::string(kStandardRecipe));
  }
};

namespace {

using Impl = BuildCaches::Impl;

/// What a fresh cache is made of.
struct Ingredients {
  std::string standard;      ///< Directory of objects; empty: none.
  std::string dependencies;  ///< Likewise.
  std::string note;
};

asio::awaitable<Result<void>> build_standard(std::shared_ptr<Impl> impl, std::string image,
                                             std::shared_ptr<CancelToken> cancel) {
  const SeedScratch scratch{.directory = impl->seeds / (".building-" + fs::random_hex(6)),
                            .image = image,
                            .modcache = {}};
  auto prepare = [scratch]() -> Result<void> {
    if (const auto made = make_seed_scratch(scratch, standard_seed_program()); !made) return made;
    return make_open_dir(scratch.cache());
  };
  Result<void> result = co_await offload(impl->files, std::move(prepare));
  if (result) {
    result = co_await run_seed_commands(impl->runs, impl->limits, scratch, standard_seed_commands(),
                                        std::move(cancel));
  }
  auto finish = [ok = result.has_value(), scratch, seed = impl->seed_of(image)]() -> Result<void> {
    Result<void> published;
    if (ok) {
      published = adopt_tree(scratch.cache());
      if (published) {
        published = publish_seed(scratch.directory, seed, std::string(kStandardRecipe));
      }
    }
    return published;
  };
  const Result<void> finished = co_await offload(impl->files, std::move(finish));
  co_await discard_scratch(impl->runs, impl->files, scratch);
  co_return result ? finished : result;
}

asio::awaitable<Ingredients> ingredients_for(std::shared_ptr<Impl> impl, std::string image,
                                             BuildCache mode,
                                             std::optional<DependencyWish> dependencies,
                                             std::shared_ptr<CancelToken> cancel) {
  Ingredients ingredients;
  if (mode == BuildCache::empty) co_return ingredients;
  auto build = [impl, image](std::shared_ptr<CancelToken> stop) {
    return build_standard(impl, image, std::move(stop));
  };
  const stdfs::path seed = impl->seed_of(image);
  const std::string failed =
      co_await impl->builds.ensure(seed, impl->seeds / kLockFile, build, cancel);
  if (!failed.empty()) {
    ingredients.note = "no seed: " + failed;
    co_return ingredients;
  }
  ingredients.standard = (seed / "cache").string();
  if (mode != BuildCache::dependencies || !dependencies) co_return ingredients;
  DependencySeed more = co_await impl->dependencies.seed_for(
      std::move(image), ingredients.standard, *std::move(dependencies), std::move(cancel));
  ingredients.dependencies = std::move(more.cache);
  ingredients.note = std::move(more.note);
  co_return ingredients;
}

/// Blocking. A seed of dependencies that another worker evicts meanwhile is done without.
Result<FreshCache> make_cache(const stdfs::path& root, const Ingredients& ingredients,
                              bool linking) {
  if (const auto made = fs::ensure_private_dir(root); !made) return made.error();
  FreshCache cache{
      .directory = (root / fs::random_hex(12)).string(), .how = "empty", .note = ingredients.note};
  if (ingredients.standard.empty()) {
    if (const auto made = make_open_dir(cache.directory); !made) return made.error();
    return cache;
  }
  const Result<std::string> how = seed_cache(ingredients.standard, cache.directory, linking);
  if (!how) return how.error();
  cache.how = "seeded:" + *how;
  if (ingredients.dependencies.empty()) return cache;
  const Result<std::string> more = add_seed(ingredients.dependencies, cache.directory, linking);
  if (more) {
    cache.how += ", dependencies:" + *more;
    return cache;
  }
  if (const auto removed = fs::remove_tree(cache.directory); !removed) return removed.error();
  Ingredients without = ingredients;
  without.dependencies.clear();
  without.note = "no seed of dependencies: " + more.error().text();
  return make_cache(root, without, linking);
}

Error cancelled_error() {
  return {.code = Errc::cancelled,
          .what = "cancelled while a build cache was made",
          .detail = {},
          .hint = {}};
}

}  // namespace

BuildCaches::BuildCaches(asio::any_io_executor executor, RunPort& runs, asio::thread_pool& files,
                         std::filesystem::path data_dir, BuildCachesOptions options) {
  const stdfs::path seeds = options.seeds.empty() ? data_dir / "seeds" : options.seeds;
  const bool linking = options.seed_files == SeedFiles::linked;
  const SeedBuilds builds(executor, files);
  impl_ =
      std::make_shared<Impl>(Impl{.runs = runs,
                                  .files = files,
                                  .seeds = seeds,
                                  .fresh_root = data_dir / "gocache",
                                  .limits = options.limits,
                                  .linking = linking,
                                  .builds = builds,
                                  .dependencies = DependencySeeds({.runs = runs,
                                                                   .files = files,
                                                                   .builds = builds,
                                                                   .root = seeds / kDependencies,
                                                                   .limits = options.limits,
                                                                   .bounds = options.dependencies,
                                                                   .linking = linking})});
}
BuildCaches::~BuildCaches() {
  impl_->builds.cancel_all();
}

asio::awaitable<Result<FreshCache>> BuildCaches::fresh(std::string image, BuildCache mode,
                                                       std::shared_ptr<CancelToken> cancel,
                                                       std::optional<DependencyWish> dependencies) {
  const std::shared_ptr<Impl> impl = impl_;
  Ingredients ingredients =
      co_await ingredients_for(impl, std::move(image), mode, std::move(dependencies), cancel);
  if (cancel && cancel->cancelled()) co_return cancelled_error();
  auto make = [root = impl->fresh_root, linking = impl->linking,
               ingredients = std::move(ingredients)]() {
    return make_cache(root, ingredients, linking);
  };
  co_return co_await offload(impl->files, std::move(make));
}

asio::awaitable<Result<std::vector<std::string>>> BuildCaches::sweep() {
  auto clean = [seeds = impl_->seeds,
                fresh_root = impl_->fresh_root]() -> Result<std::vector<std::string>> {
    std::error_code ec;
    if (const auto made = fs::ensure_private_dir(seeds); !made) return made.error();
    std::vector<std::string> stubborn;
    const auto remove = [&stubborn](const stdfs::path& directory) {
      if (!fs::remove_tree(directory)) stubborn.push_back(directory.string());
    };
    // Whoever holds the lock is building here.
    const Result<fs::FileLock> turn = fs::FileLock::take(seeds / kLockFile);
    for (const stdfs::directory_entry& entry : stdfs::directory_iterator(seeds, ec)) {
      if (!turn || !entry.is_directory() || entry.path().filename() == kDependencies ||
          is_complete_seed(entry.path())) {
        continue;
      }
      remove(entry.path());
    }
    for (const stdfs::directory_entry& entry : stdfs::directory_iterator(fresh_root, ec))
      remove(entry.path());
    auto more = DependencySeeds::sweep(seeds / kDependencies);
    if (!more) return more.error();
    stubborn.insert(stubborn.end(), more->begin(), more->end());
    return stubborn;
  };
  co_return co_await offload(impl_->files, std::move(clean));
}

asio::awaitable<void> BuildCaches::stop() {
  const std::shared_ptr<Impl> impl = impl_;
  co_await impl->builds.stop();
}

}  // namespace cupel::worker
