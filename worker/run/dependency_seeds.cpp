#include "worker/run/dependency_seeds.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/beneath.hpp"
#include "common/fs/files.hpp"
#include "worker/core/seeds/dependencies.hpp"
#include "worker/core/seeds/dependency_key.hpp"
#include "worker/core/source/gomod.hpp"
#include "worker/run/offload.hpp"
#include "worker/run/seed_files.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;

namespace {

/// Grows when the commands or the program change: older seeds are not used then.
constexpr std::string_view kDependencyRecipe = "d1";
constexpr std::uint64_t kListBytes = 64ULL << 20U;
constexpr std::string_view kBuilding = ".building-";

struct Manifests {
  std::string go_mod;
  std::string go_sum;
};

std::string in_unit(const UnitInfo& unit, const std::string& name) {
  return unit.dir.empty() || unit.dir == "." ? name : unit.dir + "/" + name;
}

/// Foreign files: no link of the tree is followed. A module without requirements has no go.sum.
Result<Manifests> read_manifests(const DependencyWish& wish) {
  const auto tree = fs::open_dir(wish.source);
  if (!tree) return tree.error();
  Manifests manifests;
  for (auto [name, text] :
       {std::pair{"go.mod", &manifests.go_mod}, {"go.sum", &manifests.go_sum}}) {
    const auto file = fs::open_beneath(*tree, in_unit(wish.unit, name), O_RDONLY | O_NONBLOCK);
    if (!file && file.error().code == Errc::not_found) continue;
    if (!file) return file.error();
    auto bytes = fs::read_all(*file, kManifestBytesMax, name);
    if (!bytes) return bytes.error();
    *text = *std::move(bytes);
  }
  return manifests;
}

/// Words of the command, its tags if there are any (even an empty flag changes what vet keeps its
/// facts under), and what it is about.
std::vector<std::string> with_tags(std::vector<std::string> words,
                                   const std::vector<std::string>& tags,
                                   const std::vector<std::string>& packages) {
  std::string flag;
  for (const std::string& tag : tags) flag += (flag.empty() ? "-tags=" : ",") + tag;
  if (!flag.empty()) words.push_back(std::move(flag));
  words.insert(words.end(), packages.begin(), packages.end());
  return words;
}

/// The flags of the checks, as far as they are part of what the go command keeps. go test links the
/// test of our program and runs `true` in its place. Without it there were no facts of its vet, and
/// no objects for the race detector.
std::vector<SeedCommand> commands_for(const DependencyWish& wish) {
  std::vector<std::string> test = {"go", "test", "-exec=true"};
  if (wish.race) test.emplace_back("-race");
  return {{.words = with_tags({"go", "vet", "-json"}, wish.tags, {"."})},
          {.words = with_tags(std::move(test), wish.tags, {"."})}};
}

RunRequest list_run(const SeedLimits& limits, const DependencyWish& wish, const std::string& image,
                    const std::string& cache) {
  RunRequest request;
  request.profile = Profile::execute;
  request.command =
      with_tags({"go", "list", "-e", "-deps", "-test", "-json=" + std::string(seeds::kListFields)},
                wish.tags, wish.packages);
  request.workdir = wish.unit.dir.empty() ? "." : wish.unit.dir;
  request.image = image;
  request.mounts.source = wish.source;
  request.mounts.modcache = wish.modcache;
  request.mounts.gocache = cache;
  request.limits = limits.each;
  request.limits.output_bytes = std::max(request.limits.output_bytes, kListBytes);
  request.limit = limits.time;
  request.check = CheckKind::list;
  return request;
}

Result<std::vector<std::string>> imports_of(const RunReport& report) {
  // With -e it says what it could read; an exit code is another check's matter.
  const SeedCommand listing{.words = {"go", "list"}, .may_remark = true};
  if (const auto ended = seed_run_ended(report, listing); !ended) return ended.error();
  seeds::DependencyImports imports = seeds::dependency_imports(report.out.bytes);
  if (!imports.complete || !report.out.complete || report.out.truncated) {
    return Error{.code = Errc::process_failed,
                 .what = "the list of a module's dependencies is not whole",
                 .detail = capped_detail(report.err.bytes),
                 .hint = {}};
  }
  return std::move(imports.paths);
}

/// What the cache holds beyond the standard library's objects becomes the seed's, sealed. A name
/// that the standard seed has always comes from there, whatever a run may have put in its place.
Result<std::uint64_t> keep_new_objects(const std::string& cache, const std::string& standard) {
  if (const auto adopted = adopt_tree(cache); !adopted) return adopted.error();
  std::uint64_t bytes = 0;
  std::error_code ec;
  std::vector<stdfs::path> known;
  for (const stdfs::directory_entry& entry : stdfs::recursive_directory_iterator(cache, ec)) {
    if (!entry.is_regular_file(ec)) continue;
    const stdfs::path name = entry.path().lexically_relative(cache);
    if (stdfs::exists(stdfs::path(standard) / name, ec)) {
      known.push_back(entry.path());
    } else {
      bytes += entry.file_size(ec);
    }
  }
  for (const stdfs::path& file : known) stdfs::remove(file, ec);
  if (ec) {
    return Error{.code = Errc::io_error,
                 .what = "can't keep the objects of " + cache,
                 .detail = ec.message(),
                 .hint = {}};
  }
  return bytes;
}

/// Not there yet, or on its way out.
bool has_no_name(const stdfs::path& directory) {
  return directory.filename().string().starts_with(kBuilding);
}

struct Making {
  std::string key;
  std::string image;
  std::string standard;
  DependencyWish wish;
  Manifests manifests;
};

/// Seeds that are complete, with their sizes from their markers.
std::vector<seeds::KeptSeed> kept_seeds(const stdfs::path& root) {
  std::vector<seeds::KeptSeed> kept;
  std::error_code ec;
  for (const stdfs::directory_entry& entry : stdfs::directory_iterator(root, ec)) {
    struct stat facts{};
    const stdfs::path marker = seed_marker(entry.path());
    if (has_no_name(entry.path()) || ::stat(marker.c_str(), &facts) != 0) continue;
    const auto text = fs::read_file(marker, 64);
    if (!text) continue;
    kept.push_back({.name = entry.path().filename().string(),
                    .bytes = std::strtoull(text->c_str(), nullptr, 10),
                    .used = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec});
  }
  return kept;
}

/// The time of the last use is that of the marker. Not the kernel's "now", which stands still for
/// some milliseconds.
void touch(const stdfs::path& seed) {
  std::array<timespec, 2> times{};
  (void)::clock_gettime(CLOCK_REALTIME, times.data());
  times[1] = times[0];
  (void)::utimensat(AT_FDCWD, seed_marker(seed).c_str(), times.data(), 0);
}

/// A seed loses its name before its files: whoever begins to use it finds none or a whole one.
void evict(const stdfs::path& root, const DependencySeedBounds& bounds) {
  for (const std::string& name : seeds::seeds_to_evict(kept_seeds(root), bounds)) {
    const stdfs::path gone = root / (std::string(kBuilding) + name + "-" + fs::random_hex(6));
    std::error_code ec;
    CUPEL_CRASH_POINT("seed_gone.rename");
    stdfs::rename(root / name, gone, ec);
    if (!ec) (void)fs::remove_tree(gone);
  }
}

/// Blocking. A seed that could never stay is not made a name for.
Result<void> keep(const SeedScratch& scratch, const std::string& standard, const stdfs::path& seed,
                  const DependencySeedBounds& bounds) {
  const auto bytes = keep_new_objects(scratch.cache(), standard);
  if (!bytes) return bytes.error();
  if (*bytes > bounds.bytes_max) {
    return Error{.code = Errc::too_large,
                 .what = "the compiled dependencies have " + std::to_string(*bytes) + " bytes",
                 .detail = {},
                 .hint = "dependency_seeds_bytes_max of the worker bounds what it keeps"};
  }
  const Result<void> published = publish_seed(scratch.directory, seed, std::to_string(*bytes));
  if (published) {
    touch(seed);
    evict(seed.parent_path(), bounds);
  }
  return published;
}

stdfs::path lock_for(const stdfs::path& root, const std::string& key) {
  // 256 locks for keys without end: two that share one wait for each other, and no lock is ever
  // removed, which could give it to two.
  return root / "locks" / key.substr(0, 2);
}

asio::awaitable<Result<void>> fill_seed(std::shared_ptr<DependencySeeds::Parts> parts,
                                        std::shared_ptr<const Making> making, SeedScratch scratch,
                                        std::shared_ptr<CancelToken> cancel) {
  const std::string list_cache = (scratch.directory / "list").string();
  const Result<void> prepared =
      co_await offload(parts->files, [scratch, list_cache]() -> Result<void> {
        if (const auto made = make_seed_scratch(scratch, {}); !made) return made;
        return make_open_dir(list_cache);
      });
  if (!prepared) co_return prepared;
  const RunReport listed = co_await parts->runs.run(
      list_run(parts->limits, making->wish, making->image, list_cache), cancel, OutputSink());
  const Result<std::vector<std::string>> imports = imports_of(listed);
  if (!imports) co_return imports.error();
  const Result<void> programmed = co_await offload(
      parts->files,
      [scratch, list_cache, making, imports = *imports,
       linking = parts->linking]() -> Result<void> {
        if (const auto removed = fs::remove_tree(list_cache); !removed) return removed;
        for (const auto& [name, text] :
             {std::pair<const char*, std::string>{"go.mod", making->manifests.go_mod},
              {"go.sum", making->manifests.go_sum},
              {"seed.go", seeds::importing_program(imports)},
              {"seed_test.go", std::string(seeds::kSeedTest)}}) {
          const auto written =
              fs::write_file_durably(stdfs::path(scratch.source()) / name, text, 0444);
          if (!written) return written;
        }
        const auto seeded = seed_cache(making->standard, scratch.cache(), linking);
        return seeded ? Result<void>() : seeded.error();
      });
  if (!programmed || imports->empty()) co_return programmed;
  co_return co_await run_seed_commands(parts->runs, parts->limits, scratch,
                                       commands_for(making->wish), cancel);
}

asio::awaitable<Result<void>> make_seed(std::shared_ptr<DependencySeeds::Parts> parts,
                                        std::shared_ptr<const Making> making,
                                        std::shared_ptr<CancelToken> cancel) {
  const SeedScratch scratch{
      .directory = parts->root / (std::string(kBuilding) + making->key + "-" + fs::random_hex(6)),
      .image = making->image,
      .modcache = making->wish.modcache};
  const Result<void> filled = co_await fill_seed(parts, making, scratch, std::move(cancel));
  auto finish = [ok = filled.has_value(), scratch, making, root = parts->root,
                 bounds = parts->bounds]() -> Result<void> {
    return ok ? keep(scratch, making->standard, root / making->key, bounds) : Result<void>();
  };
  const Result<void> finished = co_await offload(parts->files, std::move(finish));
  co_await discard_scratch(parts->runs, parts->files, scratch);
  co_return filled ? finished : filled;
}

}  // namespace

asio::awaitable<DependencySeed> DependencySeeds::seed_for(std::string image, std::string standard,
                                                          DependencyWish wish,
                                                          std::shared_ptr<CancelToken> cancel) {
  const std::shared_ptr<Parts> parts = parts_;
  if (parts->bounds.bytes_max == 0) {
    co_return DependencySeed{.cache = {},
                             .note = "no seed of dependencies: this worker keeps none"};
  }
  const auto manifests = co_await offload(parts->files, [wish] { return read_manifests(wish); });
  if (!manifests) {
    co_return DependencySeed{.cache = {},
                             .note = "no seed of dependencies: " + manifests.error().text()};
  }
  const std::string why =
      seeds::why_no_dependency_seed(manifests->go_mod, wish.unit.vendored, wish.unit.workspace);
  if (why == seeds::kNothingToSeed) co_return DependencySeed{};
  if (!why.empty()) {
    co_return DependencySeed{.cache = {}, .note = "no seed of dependencies: " + why};
  }
  auto making = std::make_shared<Making>();
  making->key = seeds::dependency_key({.recipe = kDependencyRecipe,
                                       .image = image,
                                       .go_mod = manifests->go_mod,
                                       .go_sum = manifests->go_sum,
                                       .tags = wish.tags,
                                       .race = wish.race});
  making->image = std::move(image);
  making->standard = std::move(standard);
  making->wish = std::move(wish);
  making->manifests = *manifests;
  const stdfs::path seed = parts->root / making->key;
  auto build = [parts, making](std::shared_ptr<CancelToken> stop) {
    return make_seed(parts, making, std::move(stop));
  };
  const std::string failed =
      co_await parts->builds.ensure(seed, lock_for(parts->root, making->key), build, cancel);
  if (!failed.empty()) {
    co_return DependencySeed{.cache = {}, .note = "no seed of dependencies: " + failed};
  }
  co_await offload(parts->files, [seed] {
    touch(seed);
    return true;
  });
  co_return DependencySeed{.cache = (seed / "cache").string(), .note = {}};
}

Result<std::vector<std::string>> DependencySeeds::sweep(const stdfs::path& root) {
  if (const auto made = fs::ensure_private_dir(root); !made) return made.error();
  if (const auto made = fs::ensure_private_dir(root / "locks"); !made) return made.error();
  std::error_code ec;
  std::vector<stdfs::path> broken;
  for (const stdfs::directory_entry& entry : stdfs::directory_iterator(root, ec)) {
    if (entry.path().filename() == "locks") continue;
    if (has_no_name(entry.path()) || !is_complete_seed(entry.path())) {
      broken.push_back(entry.path());
    }
  }
  std::vector<std::string> stubborn;
  for (const stdfs::path& directory : broken) {
    std::string key = directory.filename().string();
    if (key.starts_with(kBuilding)) key.erase(0, kBuilding.size());
    // Whoever holds the lock is building here.
    if (key.size() < 2) continue;
    const Result<fs::FileLock> turn = fs::FileLock::take(lock_for(root, key));
    if (!turn) continue;
    if (!fs::remove_tree(directory)) stubborn.push_back(directory.string());
  }
  return stubborn;
}

}  // namespace cupel::worker
