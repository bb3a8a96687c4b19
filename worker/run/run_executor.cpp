#include "worker/run/run_executor.hpp"

#include "common/async/clock.hpp"
#include "common/async/no_throw.hpp"
#include "common/fs/files.hpp"
#include "worker/run/run_session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

constexpr Duration kInspectionLimit = std::chrono::minutes(5);
constexpr int kCreatesMax = 2;  // of one run: one more where the first is lost
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
  std::size_t under_way = 0;
  std::uint64_t parked = 0;
  std::map<std::string, TimePoint> unremoved;  ///< Run ids, and since when.
  std::map<std::string, ImageTraits> images;
  asio::steady_timer run_ended;  ///< Cancelled at the end of each run.

  void park(const std::string& run_id) {
    ++parked;
    unremoved.emplace(run_id, async::monotonic_now());
  }
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
               .under_way = 0,
               .parked = 0,
               .unremoved = {},
               .images = {},
               .run_ended = asio::steady_timer(executor, TimePoint::max())})) {}
RunExecutor::~RunExecutor() = default;

std::set<std::string> RunExecutor::live_runs() const {
  return impl_->live;
}
std::uint64_t RunExecutor::parked_count() const {
  return impl_->parked;
}
std::size_t RunExecutor::unremoved_count() const {
  return impl_->unremoved.size();
}
void RunExecutor::settle(TimePoint began, const std::set<std::string>& left) {
  std::erase_if(impl_->unremoved, [&](const auto& parked) {
    return parked.second < began && !left.contains(parked.first);
  });
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
  const auto created =
      co_await impl->engine.create(container_name(impl->options.context, identity),
                                   inspection_spec(image, impl->options.context, identity));
  if (created) {
    found = co_await impl->engine.has_path(created->id, kCompilerPath);
    const Result<void> removed = co_await impl->engine.remove(created->id);
    if (!removed) impl->park(identity.run_id);
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

/// One container, with its way out where the run has a network. Nothing where the run was refused
/// before it had one.
asio::awaitable<std::shared_ptr<RunSession>> drive_one(std::shared_ptr<Course> course,
                                                       EgressPort* egress, RunSession::Host host,
                                                       RunRequest request, RunIdentity identity,
                                                       ImageTraits traits, OutputSink output) {
  const bool network = has_network(request);
  const bool demanded = request.enforced_egress;
  const bool admitted = network && egress != nullptr;
  if (admitted) {
    auto granted = co_await egress->admit(request, identity.run_id);
    if (!granted) {
      course->report.error = granted.error();
      co_return nullptr;
    }
    identity.egress = *std::move(granted);
  } else if (network && demanded) {
    course->report.error =
        Error{.code = Errc::unsafe_sandbox,
              .what = "the run demands an enforced network, and nobody keeps one",
              .detail = {},
              .hint = {}};
    co_return nullptr;
  }
  const auto session = std::make_shared<RunSession>(std::move(host), std::move(request), identity,
                                                    std::move(output));
  course->hand_over(session);
  co_await session->drive(std::move(traits));
  course->report = session->take_report();
  course->report.egress = network ? "configured" : "none";
  if (!admitted) co_return session;
  EgressSeen seen = co_await egress->leave(identity.run_id);
  if (seen.enforced) course->report.egress = "enforced";
  course->report.egress_refused = std::move(seen.refused);
  if (demanded && !seen.enforced && !course->report.error) {
    course->report.error = Error{.code = Errc::unsafe_sandbox,
                                 .what = "the run's network was not enforced to its end",
                                 .detail = {},
                                 .hint = "'cupel doctor worker' on its host says what is missing"};
  }
  co_return session;
}

/// The run itself, away from the caller's cancellation.
asio::awaitable<void> drive(std::shared_ptr<RunExecutor::Impl> impl, std::shared_ptr<Course> course,
                            RunRequest request, OutputSink output) {
  const Result<ImageTraits> traits = co_await learn_image(impl, request.image);
  if (!traits) {
    course->report.error = traits.error();
    co_return;
  }
  const RunSession::Host host{.executor = impl->executor,
                              .engine = &impl->engine,
                              .files = &impl->files,
                              .options = &impl->options};
  std::vector<std::string> notes;
  for (int create = 0; create < kCreatesMax; ++create) {
    const RunIdentity identity{.run_id = fs::random_hex(8),
                               .deadline = deadline_of(request, impl->options.post_run)};
    impl->live.insert(identity.run_id);
    course->session = nullptr;
    const std::shared_ptr<RunSession> session =
        co_await drive_one(course, impl->options.egress, host, request, identity, *traits, output);
    impl->forget(identity.run_id);
    if (!session) co_return;
    if (session->parked()) impl->park(identity.run_id);
    course->report.notes.insert(course->report.notes.begin(), notes.begin(), notes.end());
    // A name and a label of its own: should the lost container still appear, it is the reaper's.
    if (!session->create_lost() || course->asked) break;
    notes = course->report.notes;
    notes.push_back(course->report.error->text());
  }
}

}  // namespace

asio::awaitable<void> RunExecutor::join() {
  const std::shared_ptr<Impl> impl = impl_;
  while (!impl->live.empty() || impl->under_way > 0)
    (void)co_await impl->run_ended.async_wait(kNoThrow);
}

asio::awaitable<Result<ImageTraits>> RunExecutor::image_traits(std::string image) {
  co_return co_await learn_image(impl_, std::move(image));
}

asio::awaitable<RunReport> RunExecutor::run(RunRequest request, std::shared_ptr<CancelToken> cancel,
                                            OutputSink output) {
  const std::shared_ptr<Impl> impl = impl_;
  RunObservation seen{.profile = request.profile, .check = request.check};
  const auto course = std::make_shared<Course>();
  // Awaiting a coroutine throws in a caller that was cancelled, and then nothing would be cleaned
  // up.
  co_await asio::this_coro::throw_if_cancelled(false);
  ++impl->under_way;
  co_await drive_shielded(impl->executor, course, std::move(cancel),
                          drive(impl, course, std::move(request), std::move(output)));
  --impl->under_way;
  impl->run_ended.cancel();
  seen.ended_by = course->report.ended_by;
  seen.engine_error = course->report.error.has_value();
  seen.wait_breaks = course->report.wait_breaks;
  seen.wall = course->report.wall;
  if (impl->observer) impl->observer(seen);
  co_return std::move(course->report);
}

}  // namespace cupel::worker
