#include "worker/bubblewrap/bubblewrap_runs.hpp"

#include "common/async/no_throw.hpp"
#include "common/fs/files.hpp"
#include "worker/bubblewrap/session.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <map>

namespace cupel::worker {

namespace asio = boost::asio;

struct BubblewrapRuns::Impl {
  asio::any_io_executor executor;
  asio::thread_pool& files;
  BubblewrapHost host;
  BubblewrapOptions options;
  Observer observer;
  std::set<std::string> live;
  std::size_t under_way = 0;
  std::map<std::string, RunCgroup> unremoved;
  asio::steady_timer run_ended;  ///< Cancelled at the end of each run.
};

namespace {

/// The run itself, away from the caller's cancellation.
asio::awaitable<void> drive_bubblewrap(std::shared_ptr<BubblewrapSession> session,
                                       std::shared_ptr<Course> course, bool network) {
  co_await session->drive();
  course->report = session->take_report();
  course->report.egress = network ? "configured" : "none";
}

}  // namespace

BubblewrapRuns::BubblewrapRuns(asio::any_io_executor executor, asio::thread_pool& files,
                               BubblewrapHost host, BubblewrapOptions options, Observer observer)
    : impl_(std::make_shared<Impl>(
          Impl{.executor = executor,
               .files = files,
               .host = std::move(host),
               .options = std::move(options),
               .observer = std::move(observer),
               .live = {},
               .under_way = 0,
               .unremoved = {},
               .run_ended = asio::steady_timer(executor, TimePoint::max())})) {}

BubblewrapRuns::~BubblewrapRuns() {
  impl_->host.cgroups.close();
}

std::set<std::string> BubblewrapRuns::live_runs() const {
  return impl_->live;
}
std::size_t BubblewrapRuns::unremoved_count() const {
  return impl_->unremoved.size();
}
void BubblewrapRuns::settle() {
  auto& unremoved = impl_->unremoved;
  for (auto left = unremoved.begin(); left != unremoved.end();)
    left = left->second.remove() ? unremoved.erase(left) : std::next(left);
}

asio::awaitable<void> BubblewrapRuns::join() {
  const std::shared_ptr<Impl> impl = impl_;
  while (!impl->live.empty() || impl->under_way > 0)
    (void)co_await impl->run_ended.async_wait(kNoThrow);
}

asio::awaitable<RunReport> BubblewrapRuns::run(RunRequest request,
                                               std::shared_ptr<CancelToken> cancel,
                                               OutputSink output) {
  const std::shared_ptr<Impl> impl = impl_;
  RunObservation seen{.profile = request.profile, .check = request.check};
  const auto course = std::make_shared<Course>();
  const std::string run_id = fs::random_hex(8);
  const bool network = has_network(request);
  const BubblewrapSession::Host host{.executor = impl->executor,
                                     .files = &impl->files,
                                     .machine = &impl->host,
                                     .options = &impl->options};
  const auto session =
      std::make_shared<BubblewrapSession>(host, std::move(request), run_id, std::move(output));
  course->hand_over(session);
  ++impl->under_way;
  impl->live.insert(run_id);
  // Awaiting a coroutine throws in a caller that was cancelled, and then nothing would be cleaned up.
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await drive_shielded(impl->executor, course, std::move(cancel),
                          drive_bubblewrap(session, course, network));
  if (session->unremoved())
    impl->unremoved.emplace(run_id, session->take_rest().value_or(RunCgroup()));
  impl->live.erase(run_id);
  --impl->under_way;
  impl->run_ended.cancel();
  seen.ended_by = course->report.ended_by;
  seen.engine_error = course->report.error.has_value();
  seen.wall = course->report.wall;
  if (impl->observer) impl->observer(seen);
  co_return std::move(course->report);
}

}  // namespace cupel::worker
