#include "worker/run/run_executor.hpp"

#include "common/async/clock.hpp"
#include "common/fs/files.hpp"
#include "worker/run/run_session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr Duration kInspectionLimit = std::chrono::minutes(5);
constexpr std::string_view kCompilerLabel = "cupel.image.cc";
constexpr const char* kCompilerPath = "/usr/bin/gcc";

/// When the run must have ended, post-run calls included, as a wall time: past it any worker of the
/// fleet may remove the container.
WallTime deadline_of(const RunRequest& request, Duration post_run) {
  return {async::wall_now().us +
          std::chrono::duration_cast<std::chrono::microseconds>(request.limit + post_run).count()};
}

}  // namespace

struct RunExecutor::Impl {
  asio::any_io_executor executor;
  docker::Client& engine;
  asio::thread_pool& files;
  ExecutorOptions options;
  Observer observer;
  std::set<std::string> live;
  std::uint64_t parked = 0;
  std::map<std::string, ImageTraits> images;
  asio::steady_timer run_ended;  ///< Cancelled at the end of each run.

  void forget(const std::string& run_id) {
    live.erase(run_id);
    run_ended.cancel();
  }
};

RunExecutor::RunExecutor(asio::any_io_executor executor, docker::Client& engine,
                         asio::thread_pool& files, ExecutorOptions options, Observer observer)
    : impl_(std::make_shared<Impl>(
          Impl{.executor = executor,
               .engine = engine,
               .files = files,
               .options = std::move(options),
               .observer = std::move(observer),
               .live = {},
               .parked = 0,
               .images = {},
               .run_ended = asio::steady_timer(executor, TimePoint::max())})) {}
RunExecutor::~RunExecutor() = default;

std::set<std::string> RunExecutor::live_runs() const {
  return impl_->live;
}
std::uint64_t RunExecutor::parked_count() const {
  return impl_->parked;
}
const ExecutorOptions& RunExecutor::options() const {
  return impl_->options;
}

namespace {

/// Looks for a C compiler in the image without running anything of it.
asio::awaitable<Result<bool>> find_compiler(std::shared_ptr<RunExecutor::Impl> impl,
                                            std::string image) {
  const RunIdentity identity{
      .run_id = fs::random_hex(8),
      .deadline = {
          async::wall_now().us +
          std::chrono::duration_cast<std::chrono::microseconds>(kInspectionLimit).count()}};
  impl->live.insert(identity.run_id);
  Result<bool> found = false;
  const Result<std::string> created =
      co_await impl->engine.create(container_name(impl->options.context, identity),
                                   inspection_spec(image, impl->options.context, identity));
  if (created) {
    found = co_await impl->engine.has_path(*created, kCompilerPath);
    const Result<void> removed = co_await impl->engine.remove(*created);
    if (!removed) ++impl->parked;
  } else {
    found = created.error();
  }
  impl->forget(identity.run_id);
  co_return found;
}

asio::awaitable<Result<ImageTraits>> learn_image(std::shared_ptr<RunExecutor::Impl> impl,
                                                 std::string image) {
  if (const auto known = impl->images.find(image); known != impl->images.end()) {
    co_return known->second;
  }
  const Result<docker::ImageFacts> facts = co_await impl->engine.image_inspect(image);
  if (!facts) co_return facts.error();
  ImageTraits traits{.facts = *facts, .c_compiler = false};
  const auto said = facts->labels.find(std::string(kCompilerLabel));
  if (said != facts->labels.end()) {
    traits.c_compiler = said->second == "1";
  } else {
    const Result<bool> found = co_await find_compiler(impl, image);
    if (!found) co_return found.error();
    traits.c_compiler = *found;
  }
  impl->images.insert_or_assign(image, traits);
  co_return traits;
}

/// The run itself, away from the caller's cancellation.
asio::awaitable<void> drive(std::shared_ptr<RunExecutor::Impl> impl,
                            std::shared_ptr<RunSession> session, std::string image,
                            std::shared_ptr<RunReport> report) {
  const Result<ImageTraits> traits = co_await learn_image(impl, std::move(image));
  if (!traits) {
    report->error = traits.error();
    co_return;
  }
  co_await session->drive(*traits);
  *report = session->take_report();
}

}  // namespace

asio::awaitable<void> RunExecutor::join() {
  const std::shared_ptr<Impl> impl = impl_;
  while (!impl->live.empty()) (void)co_await impl->run_ended.async_wait(kNoThrow);
}

asio::awaitable<Result<ImageTraits>> RunExecutor::image_traits(std::string image) {
  co_return co_await learn_image(impl_, std::move(image));
}

asio::awaitable<RunReport> RunExecutor::run(RunRequest request, std::shared_ptr<CancelToken> cancel,
                                            OutputSink output) {
  const std::shared_ptr<Impl> impl = impl_;
  const RunIdentity identity{.run_id = fs::random_hex(8),
                             .deadline = deadline_of(request, impl->options.post_run)};
  const RunSession::Host host{.executor = impl->executor,
                              .engine = &impl->engine,
                              .files = &impl->files,
                              .options = &impl->options};
  RunObservation seen{.profile = request.profile, .check = request.check};
  std::string image = request.image;
  const auto session =
      std::make_shared<RunSession>(host, std::move(request), identity, std::move(output));
  const auto report = std::make_shared<RunReport>();
  const auto done = std::make_shared<asio::steady_timer>(impl->executor, TimePoint::max());
  const auto finished = std::make_shared<bool>(false);
  impl->live.insert(identity.run_id);
  if (cancel) cancel->listen([session] { session->ask(EndedBy::cancelled); });

  auto on_end = [done, finished, report](const std::exception_ptr& failure) {
    if (failure) {
      report->error = Error{
          .code = Errc::bug, .what = "a run ended with an exception", .detail = {}, .hint = {}};
    }
    *finished = true;
    done->cancel();
  };
  asio::co_spawn(impl->executor, drive(impl, session, std::move(image), report), std::move(on_end));

  // The caller's cancellation ends the command, and the cleanup still takes its time.
  co_await asio::this_coro::throw_if_cancelled(false);
  if (!*finished) (void)co_await done->async_wait(kNoThrow);
  if (!*finished) session->ask(EndedBy::cancelled);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  while (!*finished) (void)co_await done->async_wait(kNoThrow);

  if (cancel) cancel->listen({});
  impl->forget(identity.run_id);
  if (session->parked()) ++impl->parked;
  seen.ended_by = report->ended_by;
  seen.engine_error = report->error.has_value();
  seen.wall = report->wall;
  if (impl->observer) impl->observer(seen);
  co_return std::move(*report);
}

}  // namespace cupel::worker
