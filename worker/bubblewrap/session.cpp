#include "worker/bubblewrap/session.hpp"

#include "common/async/no_throw.hpp"
#include "worker/bubblewrap/launch_plan.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
/// Between two tries to remove what a run left; doubles. Its last process is often just ending.
constexpr Duration kAgainMin = std::chrono::milliseconds(1);
constexpr Duration kAgainMax = std::chrono::milliseconds(20);

/// The worker's end doesn't block and belongs to asio.
struct Channel {
  fs::Fd ours;
  fs::Fd theirs;
};

Result<Channel> make_channel(bool for_output) {
  std::array<int, 2> ends{};
  const int made = for_output ? ::pipe2(ends.data(), O_CLOEXEC)
                              : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  if (made != 0) return Error{Errc::io_error, "can't make a pipe", std::strerror(errno), {}};
  Channel channel{fs::Fd(ends[0]), fs::Fd(ends[1])};
  if (::fcntl(channel.ours.get(), F_SETFL, O_NONBLOCK) != 0)
    return Error{Errc::io_error, "can't set up a pipe", std::strerror(errno), {}};
  return channel;
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

BubblewrapSession::BubblewrapSession(Host host, RunRequest request, std::string run_id,
                                     OutputSink output)
    : SessionBase({.executor = host.executor,
                   .files = host.files,
                   .mount_budget = host.options->mount_budget,
                   .watch_period = host.options->watch_period},
                  std::move(request)),
      host_(std::move(host)),
      run_id_(std::move(run_id)),
      output_(nonce_, request_.limits.output_bytes, std::move(output)),
      in_(host_.executor),
      out_(host_.executor),
      err_(host_.executor),
      end_(host_.executor) {}

BubblewrapSession::Step BubblewrapSession::prepare() {
  const BubblewrapOptions& options = *host_.options;
  auto plan = [request = request_, run_id = run_id_, host = host_,
               orders = orders(options.wrapper_slack, options.dump_grace)] {
    return std::make_shared<Result<LaunchPlan>>(
        plan_launch(request, run_id, orders, *host.machine, *host.options));
  };
  const std::shared_ptr<Result<LaunchPlan>> planned =
      co_await offload(*host_.files, std::move(plan));
  if (!*planned) {
    fail(planned->error());
    co_return false;
  }
  LaunchPlan& ready = **planned;
  marks_ = std::move(ready.marks);
  orders_ = std::move(ready.orders);
  cgroup_ = std::move(ready.cgroup);
  launch_ = std::move(ready.launch);
  report_.notes = std::move(ready.notes);
  co_return true;
}

bool BubblewrapSession::launch() {
  Result<Channel> in = make_channel(false);
  Result<Channel> out = make_channel(true);
  Result<Channel> err = make_channel(true);
  for (const Result<Channel>* const channel : {&in, &out, &err}) {
    if (*channel) continue;
    fail(channel->error());
    return false;
  }
  launch_.streams = {.in = in->theirs.get(), .out = out->theirs.get(), .err = err->theirs.get()};
  launch_.cgroups = cgroup_.procs();
  Result<bubblewrap::Launched> launched = bubblewrap::launch(launch_);
  if (!launched) {
    fail(launched.error());
    return false;
  }
  launched_ = std::move(*launched);
  running_ = true;
  started_at_ = steady_clock::now();
  in_.assign(asio::local::stream_protocol(), in->ours.release());
  out_.assign(out->ours.release());
  err_.assign(err->ours.release());
  end_.assign(::fcntl(launched_.pidfd.get(), F_DUPFD_CLOEXEC, 0));
  return true;
}

asio::awaitable<void> BubblewrapSession::send(std::string bytes) {
  const auto [failure, count] = co_await asio::async_write(in_, asio::buffer(bytes), kNoThrow);
  // One that has ended reads no orders; its end says more than this does.
  (void)failure;
  (void)count;
}

asio::awaitable<void> BubblewrapSession::read_output(Pipe& pipe, Stream stream) {
  std::string piece(kPieceBytes, '\0');
  while (true) {
    const auto [failure, count] = co_await pipe.async_read_some(asio::buffer(piece), kNoThrow);
    if (failure || count == 0) break;
    output_.feed_payload(stream, std::string_view(piece).substr(0, count));
  }
  --streams_open_;
}

asio::awaitable<void> BubblewrapSession::wait_for_end() {
  const auto [failure] = co_await end_.async_wait(Pipe::wait_read, kNoThrow);
  if (failure) co_return;
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(launched_.pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  report_.engine_exit_code = reaped < 0 ? -1 : code_of(status);
  running_ = false;
}

/// From start to end: limit, cancellation and disk budget all become one order, then one kill.
asio::awaitable<void> BubblewrapSession::supervise() {
  const BubblewrapOptions& options = *host_.options;
  const TimePoint limit_at = started_at_ + request_.limit;
  TimePoint next = limit_at;
  bool ordered = false;
  while (running_) {
    const TimePoint now = steady_clock::now();
    if (!asked_ && now >= limit_at) asked_ = EndedBy::check_limit;
    if (asked_ && !ordered) {
      ordered = true;
      next = now + options.order_slack + (dumps() ? options.dump_grace : Duration{});
      spawn(send(std::string(dumps() ? kOrderEnd : kOrderKill)));
      continue;
    }
    if (ordered && now >= next) {
      co_await force_end();
      co_return;
    }
    co_await sleep_until(next);
  }
}

asio::awaitable<void> BubblewrapSession::force_end() {
  bubblewrap::kill_sandbox(launched_);
  const TimePoint give_up = steady_clock::now() + host_.options->kill_budget;
  while (running_ && steady_clock::now() < give_up) co_await sleep_until(give_up);
  if (!running_) co_return;
  fail({.code = Errc::engine_timeout,
        .what = "the sandbox did not end after it was killed",
        .detail = {},
        .hint = {}});
}

/// The rest of its output, then everything that is left of it, within budgets of its own.
asio::awaitable<void> BubblewrapSession::clean_up() {
  const TimePoint tail_ends = steady_clock::now() + host_.options->output_tail;
  while (streams_open_ > 0 && !running_ && steady_clock::now() < tail_ends)
    co_await sleep_until(tail_ends);
  stop_watch();
  boost::system::error_code ignored;
  (void)in_.close(ignored);
  for (Pipe* const pipe : {&out_, &err_, &end_}) (void)pipe->close(ignored);
  co_await join_parts();
  const TimePoint give_up = steady_clock::now() + host_.options->kill_budget;
  Duration pause = kAgainMin;
  bool gone = cgroup_.remove();
  while (!gone && steady_clock::now() < give_up) {
    co_await sleep_until(steady_clock::now() + pause);
    pause = std::min(pause * 2, kAgainMax);
    gone = cgroup_.remove();
  }
  unremoved_ = running_ || !gone;
  if (!gone) rest_ = std::move(cgroup_);
  marks_.remove();
}

asio::awaitable<void> BubblewrapSession::drive() {
  const std::shared_ptr<SessionBase> self = shared_from_this();
  const bool prepared = co_await prepare();
  if (prepared && !asked_ && launch()) {
    streams_open_ = 2;
    spawn(send(std::move(orders_)));
    spawn(read_output(out_, Stream::out));
    spawn(read_output(err_, Stream::err));
    spawn(wait_for_end());
    spawn(watch_mounts());
    co_await supervise();
    report_.wall = steady_clock::now() - started_at_;
  }
  co_await clean_up();
  output_.finish();
  judge();
}

/// Who ended it, and whether what was seen can be explained.
void BubblewrapSession::judge() {
  if (asked_) report_.ended_by = *asked_;
  if (started_at_ == TimePoint{}) return;
  const std::optional<WrapperReport> end = output_.report();
  output_.fill(report_);
  if (!end) return judge_without_trailer();
  judge_trailer(*end, {.place = "the sandbox",
                       .where = {},
                       .lost_stdin = {.code = Errc::engine_protocol,
                                      .what = "the command was ended by an order that nobody gave",
                                      .detail = {},
                                      .hint = {}}});
}

void BubblewrapSession::judge_without_trailer() {
  if (asked_) return;
  report_.ended_by = EndedBy::engine;
  if (report_.started) {
    report_.killed_unasked = !report_.error && report_.engine_exit_code == kKilledCode;
    return;
  }
  fail({.code = Errc::engine_refused,
        .what = "bubblewrap did not start the run",
        .detail = capped_detail(report_.err.bytes),
        .hint = "'cupel doctor' says what this machine lacks"});
}

}  // namespace cupel::worker
