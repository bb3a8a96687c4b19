#include "worker/app/run_side.hpp"

#include "common/async/clock.hpp"
#include "common/async/with_budget.hpp"
#include "common/core/backoff.hpp"
#include "common/core/digest.hpp"
#include "common/fs/files.hpp"
#include "common/images/recipe.hpp"
#include "common/images/table.hpp"
#include "worker/app/download_setup.hpp"
#include "worker/app/egress_setup.hpp"
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
constexpr std::uint64_t kWrapperBytesMax = 64ULL << 20;

void report(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    spdlog::error("a task of the run loop failed: {}", e.what());
  }
}

/// The netrc as a file that a container's user can read, below directories that only we can enter.
Result<std::string> credentials_for_containers(const Options& options) {
  const auto secret = fs::read_secret(options.netrc_file, kNetrcBytesMax);
  if (!secret) return secret.error();
  const std::string directory = options.data_dir + "/secrets";
  if (auto made = fs::ensure_private_dir(directory); !made) return made.error();
  if (auto written = fs::write_file_durably(directory + "/netrc", *secret, 0444); !written)
    return written.error();
  return directory + "/netrc";
}

images::EngineImage engine_image(const engine::ImageFacts& facts) {
  return {.id = facts.id,
          .repo_digests = facts.digests,
          .labels = std::vector<std::pair<std::string, std::string>>(facts.labels.begin(),
                                                                     facts.labels.end())};
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
  std::string engine_text;
  std::unique_ptr<egress::Gate> gate;
  std::unique_ptr<RunExecutor> executor;
  std::unique_ptr<BuildCaches> caches;
  std::unique_ptr<Reaper> reaper;
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
      engine_(loop.get_executor(),
              docker::ClientOptions{.socket_path = options.engine_socket,
                                    .budgets = {},
                                    .observer =
                                        [&metrics](const docker::CallObservation& call) {
                                          metrics.engine_call(call);
                                        }}),
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
  if (!parts_) co_return;
  // A seed that is being built is nobody's attempt; its container must go as well.
  co_await parts_->caches->stop();
  co_await parts_->executor->join();
  co_await parts_->gate->stop();
  // Ends its thread, at the latest with the file that it looks at.
  downloads_.reset();
}

asio::awaitable<void> RunSide::prepare(Membership membership, FleetId earlier_fleet) {
  for (std::uint32_t attempt = 0;; ++attempt) {
    auto prepared = co_await prepare_once(membership, earlier_fleet);
    if (prepared) break;
    spdlog::error("not ready: {}", prepared.error().text());
    offered_.blocked = prepared.error().code == Errc::mount_probe_failed ? "mount_probe"
                       : prepared.error().code == Errc::image_missing    ? "image"
                       : prepared.error().code == Errc::unsafe_sandbox   ? "egress"
                                                                         : "engine";
    offer();
    co_await async::sleep_for(
        backoff_delay(attempt, kPrepareRetryFirst, kPrepareRetryMax, fs::random_u64()));
  }
  Reaper* reaper = parts_->reaper.get();
  group_.spawn(reaper->loop([this](const ReapCounts& counts, const std::optional<Error>& error) {
    metrics_.reaper_pass(counts, error.has_value(), async::wall_now());
    if (error) {
      spdlog::warn("reaper: {}", error->text());
    } else {
      parts_->executor->settle(counts.began, counts.runs_left);
      offer();
    }
    if (counts.still_there > 0)
      spdlog::error("reaper: {} containers are there though the engine said that it removed them",
                    counts.still_there);
    if (counts.removed > 0)
      spdlog::info("reaper: {} containers removed, {} seen gone", counts.removed, counts.gone);
  }));
  group_.spawn(watch_engine());
  group_.spawn(watch_disk());
  offer();
}

asio::awaitable<Result<void>> RunSide::prepare_once(Membership membership, FleetId earlier_fleet) {
  auto version = co_await engine_.negotiate();
  if (!version) co_return version.error();
  engine_ok_ = true;
  metrics_.engine_up(true);
  auto info = co_await engine_.info();
  if (!info) co_return info.error();

  if (!parts_) {
    const auto go = go_environment(options_);
    if (!go) co_return go.error();
    const auto wrapper = fs::read_file(options_.wrapper, kWrapperBytesMax);
    if (!wrapper) co_return wrapper.error();

    auto parts = std::make_unique<Parts>();
    auto gate =
        make_gate(loop_.get_executor(), engine_, options_, *go, membership.worker, metrics_);
    if (!gate) co_return gate.error();
    parts->gate = *std::move(gate);
    parts->engine_text = version->name + " " + version->version + ", api " + version->api.text() +
                         ", " + info->default_runtime;
    ExecutorOptions executor;
    executor.context.fleet = membership.fleet;
    executor.context.worker = membership.worker;
    executor.context.incarnation = membership.incarnation;
    executor.context.wrapper_path = options_.wrapper;
    executor.context.goproxy = go->proxy;
    executor.context.gosumdb = go->sumdb;
    executor.context.ca_bundle = options_.ca_bundle;
    executor.context.proxy_environment = go->proxy_environment;
    executor.post_run = options_.post_run;
    executor.egress = parts->gate.get();
    if (!options_.netrc_file.empty()) {
      auto netrc = credentials_for_containers(options_);
      if (!netrc) co_return netrc.error();
      executor.context.netrc = *netrc;
    }
    executor.mount_budget.bytes = std::max(options_.gocache_bytes_max, options_.modcache_bytes_max);
    executor.mount_budget.inodes =
        std::max(options_.gocache_inodes_max, options_.modcache_inodes_max);
    executor.mount_budget.reserve_bytes = options_.disk_reserve_bytes / 2;
    parts->executor = std::make_unique<RunExecutor>(
        loop_.get_executor(), engine_, files_, std::move(executor),
        [this](const RunObservation& run) { metrics_.run_ended(run); });
    parts->caches = std::make_unique<BuildCaches>(loop_.get_executor(), *parts->executor, files_,
                                                  options_.data_dir, options_.seed_dir);
    ReaperOptions reaper;
    reaper.fleet = membership.fleet;
    reaper.worker = membership.worker;
    reaper.incarnation = membership.incarnation;
    reaper.grace = options_.reap_grace;
    reaper.period = options_.reap_period;
    reaper.pass_budget = options_.reap_period * 4 / 5;
    parts->reaper = std::make_unique<Reaper>(
        engine_, reaper, [runs = parts->executor.get()] { return runs->live_runs(); },
        async::wall_now);
    parts_ = std::move(parts);

    // What an earlier process left is removed before the first task. An engine that can't list must
    // not keep a worker from its tasks: the reaper's loop goes on trying.
    if (auto reaped = co_await parts_->reaper->pass(); !reaped)
      spdlog::warn("reaper: {}", reaped.error().text());
    if (earlier_fleet && earlier_fleet != membership.fleet) {
      ReaperOptions before = reaper;
      before.fleet = earlier_fleet;
      Reaper old(engine_, before, [] { return std::set<std::string>(); }, async::wall_now);
      if (auto reaped = co_await old.pass(); !reaped) co_return reaped.error();
    }
    if (auto swept = co_await parts_->caches->sweep(); !swept) co_return swept.error();
    auto workspaces = Workspaces::open(options_.data_dir + "/workspaces");
    if (!workspaces) co_return workspaces.error();
    workspaces_ = std::make_unique<Workspaces>(std::move(*workspaces));
    downloads_ = start_downloads(options_, *go, metrics_);
    parts_->runner = std::make_unique<TaskRunner>(
        RunnerParts{
            .loop = loop_,
            .files = files_,
            .runs = *parts_->executor,
            .caches = *parts_->caches,
            .workspaces = *workspaces_,
            .downloads = downloads_.get(),
            .bulk = bulk_,
            .metrics = metrics_,
            .options = options_,
            .engine = parts_->engine_text,
            .wrapper = "sha256:" + sha256(*wrapper).hex(),
            .images = [this] { return images_; },
            .egress_missing = [this] { return egress_missing(); },
            .upstream_pause = [gate = parts_->gate.get()] { return gate->upstream_pause(); }},
        callbacks_.finished, callbacks_.output);
  }
  const Result<void> egress = co_await parts_->gate->prepare();
  metrics_.egress_enforced(parts_->gate->enforced());
  if (!egress) co_return egress.error();
  if (auto listed = co_await refresh_images(); !listed) co_return listed.error();
  if (images_.empty()) {
    co_return Error{Errc::image_missing, "the engine holds no toolchain image", {}, {}};
  }
  co_return co_await probe();
}

/// A fixture proxy needs no network at all, which is more than an enforced one.
std::string RunSide::egress_missing() const {
  if (!options_.fixture_proxy.empty() || parts_->gate->enforced()) return {};
  return parts_->gate->why_not();
}

asio::awaitable<Result<void>> RunSide::probe() {
  if (probed_) co_return Result<void>();
  ProbeRequest request;
  request.image = images_.front().engine_id;
  request.roots = {options_.data_dir};
  request.socket_path = options_.engine_socket;
  auto proved = co_await probe_mounts(*parts_->executor, request);
  metrics_.mount_probe(proved.has_value());
  if (!proved) co_return proved.error();
  probed_ = true;
  co_return Result<void>();
}

asio::awaitable<Result<void>> RunSide::refresh_images() {
  auto listed = co_await engine_.image_list({});
  if (!listed) co_return listed.error();
  std::vector<images::EngineImage> all;
  for (const engine::ImageFacts& facts : *listed) all.push_back(engine_image(facts));
  images_ = images::match_images(images::builtin_table(), all);
  co_return Result<void>();
}

asio::awaitable<void> RunSide::watch_engine() {
  for (;;) {
    if (!co_await async::sleep_for(kEnginePeriod)) co_return;
    auto alive = co_await engine_.ping();
    if (!alive && alive.error().code == Errc::cancelled) co_return;
    engine_ok_ = alive.has_value();
    metrics_.engine_up(engine_ok_);
    if (engine_ok_) {
      (void)co_await refresh_images();
    } else {
      spdlog::warn("engine: {}", alive.error().text());
    }
    metrics_.egress_enforced(parts_->gate->enforced());
    metrics_.upstream_paused((co_await parts_->gate->upstream_pause()).has_value());
    metrics_.containers_running(parts_->executor->live_runs().size());
    metrics_.containers_unremoved(parts_->executor->unremoved_count());
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
  if (evicting_ || workspaces_->bytes() <= options_.workspaces_bytes_max) return;
  evicting_ = true;
  asio::post(files_, [this] {
    auto stubborn = workspaces_->evict(options_.workspaces_bytes_max);
    asio::post(loop_, [this, stubborn = std::move(stubborn)]() mutable {
      evicting_ = false;
      if (!stubborn.empty() && !images_.empty())
        group_.spawn(empty(images_.front().engine_id, std::move(stubborn)));
    });
  });
}

asio::awaitable<void> RunSide::empty(std::string image, std::vector<std::string> directories) {
  for (const std::string& directory : directories) {
    auto removed = co_await empty_directory(*parts_->executor, files_, image, directory);
    if (!removed) spdlog::warn("{}", removed.error().text());
  }
}

void RunSide::offer() {
  Capacity capacity;
  const HostFacts host = read_host_facts();
  capacity.memory_bytes = host.memory_bytes;
  capacity.disk_free_bytes = offered_.disk_free_bytes;
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
    const auto stuck = static_cast<std::uint32_t>(
        std::min<std::size_t>(places, parts_->executor->unremoved_count()));
    capacity.slots = places - stuck;
    if (capacity.slots == 0) capacity.blocked = "engine";
  }
  if (capacity == offered_ && std::exchange(sent_, true)) return;
  sent_ = true;
  offered_ = capacity;
  callbacks_.capacity(std::move(capacity));
}

}  // namespace cupel::worker
