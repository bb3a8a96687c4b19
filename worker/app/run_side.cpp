#include "worker/app/run_side.hpp"

#include "common/async/clock.hpp"
#include "common/async/with_budget.hpp"
#include "common/core/backoff.hpp"
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "worker/app/download_setup.hpp"
#include "worker/app/go_environment.hpp"
#include "worker/app/host.hpp"
#include "worker/run/mount_probe.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
using std::chrono::seconds;

constexpr Duration kPrepareRetryFirst = seconds(1);
constexpr Duration kPrepareRetryMax = seconds(30);
constexpr Duration kEnginePeriod = seconds(10);
constexpr Duration kDiskPeriod = seconds(2);
constexpr Duration kSeedLimit = std::chrono::minutes(20);
constexpr std::uint64_t kWrapperBytesMax = 64ULL << 20;

void report(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    spdlog::error("a task of the run loop failed: {}", e.what());
  }
}

Error below_reserve(const Options& options, const Result<fs::Space>& space) {
  if (!space) return space.error();
  return {Errc::disk_full,
          "no task is taken: " + std::to_string(space->bytes_free >> 20U) + " MiB and " +
              std::to_string(space->inodes_free) + " inodes are free in " + options.data_dir,
          {},
          "free space, or lower disk_reserve (" +
              std::to_string(options.disk_reserve_bytes >> 20U) + " MiB) or inode_reserve (" +
              std::to_string(options.inode_reserve) + ")"};
}

}  // namespace

struct RunSide::Parts {
  std::unique_ptr<BuildCaches> caches;
  std::unique_ptr<TaskRunner> runner;
};

RunSide::RunSide(asio::io_context& loop, asio::thread_pool& files, BulkLink& bulk,
                 WorkerMetrics& metrics, const Options& options, Callbacks callbacks)
    : loop_(loop),
      files_(files),
      bulk_(bulk),
      metrics_(metrics),
      options_(options),
      callbacks_(std::move(callbacks)),
      engine_(
          make_run_engine({.loop = loop, .files = files, .metrics = metrics, .options = options})),
      group_(loop.get_executor(), report) {
  offered_.blocked = "starting";
}

RunSide::~RunSide() = default;

void RunSide::join(Membership membership, FleetId earlier_fleet) {
  if (std::exchange(joined_, true)) return;
  group_.spawn(prepare(membership, earlier_fleet));
}

void RunSide::start(Lease lease) {
  if (parts_ && parts_->runner) parts_->runner->start(std::move(lease));
}

void RunSide::cancel(const LiveLease& lease, CancelWhy why) {
  if (parts_ && parts_->runner) parts_->runner->cancel(lease, why);
}

asio::awaitable<void> RunSide::shutdown() {
  if (parts_ && parts_->runner) co_await parts_->runner->shutdown();
  group_.cancel();
  co_await group_.join();
  // A seed that is being built is nobody's attempt; its container must go as well.
  if (parts_) co_await parts_->caches->stop();
  co_await engine_->stop();
  // Ends its thread, at the latest with the file that it looks at.
  downloads_.reset();
}

asio::awaitable<void> RunSide::prepare(Membership membership, FleetId earlier_fleet) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    auto prepared = co_await prepare_once(membership, earlier_fleet);
    if (prepared) break;
    spdlog::error("not ready: {}", prepared.error().text());
    offered_.blocked = prepared.error().code == Errc::mount_probe_failed             ? "mount_probe"
                       : prepared.error().code == Errc::image_missing                ? "image"
                       : prepared.error().code == Errc::unsafe_sandbox && engine_ok_ ? "egress"
                                                                                     : "engine";
    offer();
    co_await async::sleep_for(
        backoff_delay(attempt, kPrepareRetryFirst, kPrepareRetryMax, fs::random_u64()));
  }
  group_.spawn(engine_->keep_clean([this] { offer(); }));
  group_.spawn(watch_engine());
  group_.spawn(watch_disk());
  offer();
}

asio::awaitable<Result<void>> RunSide::prepare_once(Membership membership, FleetId earlier_fleet) {
  if (auto opened = co_await engine_->open(membership); !opened) co_return opened.error();
  engine_ok_ = true;
  metrics_.engine_up(true);

  if (!parts_) {
    const auto wrapper = fs::read_file(options_.wrapper, kWrapperBytesMax);
    if (!wrapper) co_return wrapper.error();
    auto parts = std::make_unique<Parts>();
    const SeedFiles seed_files =
        engine_->runs_own_nothing() ? SeedFiles::linked : SeedFiles::copied;
    BuildCachesOptions caches{.seeds = options_.seed_dir,
                              .limits = {.each = RunLimits{}, .time = kSeedLimit},
                              .seed_files = seed_files,
                              .dependencies = {.bytes_max = options_.dependency_seeds_bytes_max,
                                               .count_max = kDependencySeedsMax}};
    parts->caches = std::make_unique<BuildCaches>(loop_.get_executor(), engine_->runs(), files_,
                                                  options_.data_dir, std::move(caches));
    // What an earlier process left is removed before the first task.
    if (auto swept = co_await engine_->sweep(earlier_fleet); !swept) co_return swept.error();
    auto swept_caches = co_await parts->caches->sweep();
    if (!swept_caches) co_return swept_caches.error();
    left_behind_ = *std::move(swept_caches);
    auto workspaces = Workspaces::open(options_.data_dir + "/workspaces");
    if (!workspaces) co_return workspaces.error();
    workspaces_ = std::make_unique<Workspaces>(std::move(*workspaces));
    const auto go = go_environment(options_);
    if (!go) co_return go.error();
    downloads_ = start_downloads(options_, *go, metrics_);
    parts->runner = std::make_unique<TaskRunner>(
        RunnerParts{.loop = loop_,
                    .files = files_,
                    .runs = engine_->runs(),
                    .caches = *parts->caches,
                    .workspaces = *workspaces_,
                    .downloads = downloads_.get(),
                    .bulk = bulk_,
                    .metrics = metrics_,
                    .options = options_,
                    .engine = engine_->text(),
                    .wrapper = "sha256:" + sha256(*wrapper).hex(),
                    .images = [this] { return images_; },
                    .upstream_pause = [this] { return engine_->upstream_pause(); }},
        callbacks_.finished, callbacks_.output);
    parts_ = std::move(parts);
  }
  if (auto network = co_await engine_->prepare_network(); !network) co_return network.error();
  if (auto listed = co_await refresh_images(); !listed) co_return listed.error();
  if (images_.empty()) {
    co_return Error{Errc::image_missing,
                    options_.engine == kEngineBubblewrap
                        ? "no toolchain image is in " + options_.image_dir
                        : std::string("the engine holds no toolchain image"),
                    {},
                    {}};
  }
  if (!left_behind_.empty())
    group_.spawn(empty(images_.front().engine_id, std::exchange(left_behind_, {})));
  co_return co_await probe();
}

/// A fixture proxy needs no network at all, which is more than an enforced one.
bool RunSide::enforces_egress() const {
  return parts_ && (!options_.fixture_proxy.empty() || engine_->why_not_enforced().empty());
}

asio::awaitable<Result<void>> RunSide::probe() {
  if (probed_) co_return Result<void>();
  ProbeRequest request;
  request.image = images_.front().engine_id;
  request.roots = {options_.data_dir};
  request.socket_path =
      options_.engine == kEngineBubblewrap ? options_.engine : options_.engine_socket;
  auto proved = co_await probe_mounts(engine_->runs(), request);
  metrics_.mount_probe(proved.has_value());
  if (!proved) co_return proved.error();
  probed_ = true;
  co_return Result<void>();
}

asio::awaitable<Result<void>> RunSide::refresh_images() {
  auto listed = co_await engine_->images();
  if (!listed) co_return listed.error();
  images_ = images::match_images(images::builtin_table(), *listed);
  co_return Result<void>();
}

asio::awaitable<void> RunSide::watch_engine() {
  for (;;) {
    if (!co_await async::sleep_for(kEnginePeriod)) co_return;
    auto alive = co_await engine_->alive();
    if (!alive && alive.error().code == Errc::cancelled) co_return;
    engine_ok_ = alive.has_value();
    metrics_.engine_up(engine_ok_);
    if (engine_ok_) {
      (void)co_await refresh_images();
    } else {
      spdlog::warn("engine: {}", alive.error().text());
    }
    co_await engine_->observe();
    upstream_paused_ = (co_await engine_->upstream_pause()).has_value();
    offer();
  }
}

asio::awaitable<void> RunSide::watch_disk() {
  for (;;) {
    const auto space = fs::space_of(options_.data_dir);
    const bool ok = space && space->bytes_free >= options_.disk_reserve_bytes &&
                    (space->inodes_total == 0 || space->inodes_free >= options_.inode_reserve);
    if (ok != disk_ok_) {
      disk_ok_ = ok;
      if (!ok) spdlog::warn("{}", below_reserve(options_, space).text());
    }
    if (space) {
      offered_.disk_free_bytes = space->bytes_free >> 28U << 28U;  // steps of 256 MiB: no chatter
      metrics_.data_dir(space->bytes_free, workspaces_->bytes());
    }
    offer();
    evict();
    if (!co_await async::sleep_for(kDiskPeriod)) co_return;
  }
}

void RunSide::evict() {
  if (evicting_ || (workspaces_->bytes() <= options_.workspaces_bytes_max &&
                    workspaces_->count() <= options_.workspaces_count_max)) {
    return;
  }
  evicting_ = true;
  asio::post(files_, [this] {
    auto stubborn =
        workspaces_->evict(options_.workspaces_bytes_max, options_.workspaces_count_max);
    asio::post(loop_, [this, stubborn = std::move(stubborn)]() mutable {
      evicting_ = false;
      if (!stubborn.empty() && !images_.empty())
        group_.spawn(empty(images_.front().engine_id, std::move(stubborn)));
    });
  });
}

asio::awaitable<void> RunSide::empty(std::string image, std::vector<std::string> directories) {
  for (const std::string& directory : directories) {
    auto removed = co_await empty_directory(engine_->runs(), files_, image, directory);
    if (!removed) spdlog::warn("{}", removed.error().text());
  }
}

void RunSide::offer() {
  Capacity capacity;
  const HostFacts host = read_host_facts();
  capacity.memory_bytes = host.memory_bytes;
  capacity.disk_free_bytes = offered_.disk_free_bytes;
  capacity.enforces_egress = enforces_egress();
  capacity.upstream_paused = upstream_paused_;
  for (const images::Available& image : images_) {
    capacity.images.push_back(image.identity);
    capacity.toolchains.push_back({image.identity, image.go_version, image.has_cc});
  }
  if (!parts_ || !parts_->runner || !probed_) {
    capacity.blocked = offered_.blocked.empty() ? "starting" : offered_.blocked;
  } else if (!engine_ok_) {
    capacity.blocked = "engine";
  } else if (!disk_ok_) {
    capacity.blocked = "disk";
  } else if (images_.empty()) {
    capacity.blocked = "image";
  } else {
    // A container that can't be removed may still run: its place is not given to another.
    const std::uint32_t places =
        options_.slots != 0 ? options_.slots : default_slots(host, RunLimits{});
    const auto stuck =
        static_cast<std::uint32_t>(std::min<std::size_t>(places, engine_->unremoved_count()));
    capacity.slots = places - stuck;
    if (capacity.slots == 0) capacity.blocked = "engine";
  }
  if (capacity == offered_ && std::exchange(sent_, true)) return;
  sent_ = true;
  offered_ = capacity;
  callbacks_.capacity(std::move(capacity));
}

}  // namespace cupel::worker
