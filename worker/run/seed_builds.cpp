#include "worker/run/seed_builds.hpp"

#include "common/async/no_throw.hpp"
#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <map>
#include <optional>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;
namespace stdfs = std::filesystem;
using std::chrono::steady_clock;

namespace {

constexpr std::string_view kCompleteMarker = "complete";
constexpr Duration kLockPause = std::chrono::milliseconds(500);
constexpr Duration kRetryAfter = std::chrono::minutes(10);
constexpr std::size_t kFailuresMax = 1000;

}  // namespace

struct SeedBuilds::Impl {
  /// One seed on its way; its waiters share it.
  struct Building {
    asio::steady_timer done;
    bool ended = false;
    std::optional<Error> error = {};
    std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
  };
  struct Failure {
    TimePoint until;
    std::string why;
  };

  asio::any_io_executor executor;
  asio::thread_pool& files;
  std::map<stdfs::path, std::shared_ptr<Building>> building;
  std::map<stdfs::path, Failure> failures;
};

namespace {

using BuildsImpl = SeedBuilds::Impl;

/// The right to build: another worker of this host may be at it. Asked for again and again, since a
/// wait for a file lock can't be cancelled.
asio::awaitable<Result<fs::FileLock>> take_turn(std::shared_ptr<BuildsImpl> impl, stdfs::path lock,
                                                std::shared_ptr<CancelToken> cancel) {
  for (;;) {
    auto locked = co_await offload(impl->files, [lock]() -> Result<fs::FileLock> {
      if (const auto made = fs::ensure_private_dir(lock.parent_path()); !made) return made.error();
      return fs::FileLock::take(lock);
    });
    if (locked || locked.error().code != Errc::locked) co_return locked;
    asio::steady_timer pause(impl->executor, kLockPause);
    (void)co_await pause.async_wait(kNoThrow);
    if (cancel->cancelled()) {
      co_return Error{.code = Errc::cancelled,
                      .what = "cancelled while another worker built a seed",
                      .detail = {},
                      .hint = {}};
    }
  }
}

asio::awaitable<Result<void>> build_in_turn(std::shared_ptr<BuildsImpl> impl, stdfs::path seed,
                                            stdfs::path lock, SeedBuilds::Build build,
                                            std::shared_ptr<CancelToken> cancel) {
  const Result<fs::FileLock> turn = co_await take_turn(impl, std::move(lock), cancel);
  if (!turn) co_return turn.error();
  if (is_complete_seed(seed)) co_return Result<void>();
  co_return co_await build(cancel);
}

void remember_failure(BuildsImpl& impl, const stdfs::path& seed, const Error& error) {
  // Seeds of dependencies have names without end.
  if (impl.failures.size() >= kFailuresMax) impl.failures.clear();
  impl.failures[seed] = {.until = steady_clock::now() + kRetryAfter, .why = error.text()};
}

void start_building(const std::shared_ptr<BuildsImpl>& impl, const stdfs::path& seed,
                    stdfs::path lock, SeedBuilds::Build build) {
  const auto building = std::make_shared<BuildsImpl::Building>(
      BuildsImpl::Building{.done = asio::steady_timer(impl->executor, TimePoint::max())});
  impl->building.emplace(seed, building);
  auto on_end = [impl, seed, building](const std::exception_ptr& failure, Result<void> result) {
    if (failure || !result) {
      building->error = failure ? Error{.code = Errc::bug,
                                        .what = "building a seed ended with an exception",
                                        .detail = {},
                                        .hint = {}}
                                : result.error();
      remember_failure(*impl, seed, *building->error);
    }
    building->ended = true;
    impl->building.erase(seed);
    building->done.cancel();
  };
  asio::co_spawn(impl->executor,
                 build_in_turn(impl, seed, std::move(lock), std::move(build), building->cancel),
                 std::move(on_end));
}

}  // namespace

SeedBuilds::SeedBuilds(asio::any_io_executor executor, asio::thread_pool& files)
    : impl_(std::make_shared<Impl>(
          Impl{.executor = std::move(executor), .files = files, .building = {}, .failures = {}})) {}

asio::awaitable<std::string> SeedBuilds::ensure(stdfs::path seed, stdfs::path lock, Build build,
                                                std::shared_ptr<CancelToken> cancel) {
  const std::shared_ptr<Impl> impl = impl_;
  if (is_complete_seed(seed)) co_return std::string();
  const auto failed = impl->failures.find(seed);
  if (failed != impl->failures.end() && steady_clock::now() < failed->second.until) {
    co_return failed->second.why;
  }
  if (!impl->building.contains(seed)) {
    start_building(impl, seed, std::move(lock), std::move(build));
  }
  const std::shared_ptr<Impl::Building> building = impl->building.at(seed);
  if (cancel) cancel->listen([building] { building->done.cancel(); });
  while (!building->ended && !(cancel && cancel->cancelled())) {
    (void)co_await building->done.async_wait(kNoThrow);
  }
  if (cancel) cancel->listen({});
  if (!building->ended) co_return std::string("cancelled");
  co_return building->error ? building->error->text() : std::string();
}

void SeedBuilds::cancel_all() {
  for (const auto& [seed, one] : impl_->building) one->cancel->cancel();
}

asio::awaitable<void> SeedBuilds::stop() {
  const std::shared_ptr<Impl> impl = impl_;
  cancel_all();
  while (!impl->building.empty()) {
    const std::shared_ptr<Impl::Building> building = impl->building.begin()->second;
    if (!building->ended) (void)co_await building->done.async_wait(kNoThrow);
  }
}

stdfs::path seed_marker(const stdfs::path& seed) {
  return seed / kCompleteMarker;
}

bool is_complete_seed(const stdfs::path& seed) {
  std::error_code ec;
  return stdfs::is_regular_file(seed_marker(seed), ec);
}

Result<void> publish_seed(const stdfs::path& scratch, const stdfs::path& seed,
                          const std::string& note) {
  if (const auto removed = fs::remove_tree(seed); !removed) return removed;
  std::error_code ec;
  CUPEL_CRASH_POINT("seed.rename");
  stdfs::rename(scratch, seed, ec);
  if (ec) {
    return Error{.code = Errc::io_error,
                 .what = "can't publish the seed " + seed.string(),
                 .detail = ec.message(),
                 .hint = {}};
  }
  CUPEL_CRASH_POINT("seed.renamed");
  return fs::create_file_durably(seed_marker(seed), note, 0444);
}

}  // namespace cupel::worker
