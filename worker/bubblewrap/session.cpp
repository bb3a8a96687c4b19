#include "worker/bubblewrap/session.hpp"

#include "common/async/no_throw.hpp"
#include "common/fs/files.hpp"
#include "worker/bubblewrap/launch_plan.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>

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

constexpr std::int32_t kKilledCode = 128 + 9;
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kNotesMax = 32;
constexpr Duration kAgain = std::chrono::milliseconds(20);

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
    : host_(std::move(host)),
      request_(std::move(request)),
      run_id_(std::move(run_id)),
      nonce_(fs::random_hex(16)),
      output_(nonce_, request_.limits.output_bytes, std::move(output)),
      in_(host_.executor),
      out_(host_.executor),
      err_(host_.executor),
      end_(host_.executor),
      wake_(host_.executor),
      next_look_(host_.executor) {}

void BubblewrapSession::ask(EndedBy reason) {
  if (!asked_) asked_ = reason;
  wake();
}

void BubblewrapSession::fail(Error error) {
  if (!report_.error) {
    report_.error = std::move(error);
  } else {
    note(error);
  }
}

void BubblewrapSession::note(const Error& error) {
  if (report_.notes.size() < kNotesMax) report_.notes.push_back(error.what + ": " + error.detail);
}

/// Runs beside drive(), which waits for it: nothing outlives the session.
void BubblewrapSession::spawn(asio::awaitable<void> task) {
  ++children_;
  auto on_end = [self = shared_from_this()](const std::exception_ptr& failure) {
    --self->children_;
    if (failure) {
      self->fail({.code = Errc::bug,
                  .what = "a part of a run ended with an exception",
                  .detail = {},
                  .hint = {}});
    }
    self->wake();
  };
  asio::co_spawn(host_.executor, std::move(task), std::move(on_end));
}

asio::awaitable<void> BubblewrapSession::sleep_until(TimePoint time) {
  wake_.expires_at(std::chrono::time_point_cast<steady_clock::duration>(time));
  (void)co_await wake_.async_wait(kNoThrow);
}

BubblewrapSession::Step BubblewrapSession::prepare() {
  auto plan = [request = request_, run_id = run_id_, nonce = nonce_, host = host_] {
    return std::make_shared<Result<LaunchPlan>>(
        plan_launch(request, run_id, nonce, *host.machine, *host.options));
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

asio::awaitable<void> BubblewrapSession::watch_mounts() {
  const auto mounts = profile_mounts(request_);
  std::vector<std::string> roots;
  for (const BoundMount& mount : *mounts) {
    if (mount.writable) roots.push_back(mount.host_path);
  }
  const fs::GrowthBudget budget = host_.options->mount_budget;
  auto measure = [roots, budget] { return std::make_shared<fs::GrowthWatch>(roots, budget); };
  const std::shared_ptr<fs::GrowthWatch> watch = co_await offload(*host_.files, std::move(measure));
  const auto period =
      std::chrono::duration_cast<steady_clock::duration>(host_.options->watch_period);
  while (!closing_) {
    auto look = [watch] { return watch->overrun(); };
    const std::optional<std::string> overrun = co_await offload(*host_.files, std::move(look));
    if (overrun) {
      report_.mount_budget_hit = true;
      report_.notes.push_back(*overrun);
      ask(EndedBy::watcher_disk);
      break;
    }
    if (closing_) break;
    next_look_.expires_after(period);
    (void)co_await next_look_.async_wait(kNoThrow);
  }
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
      const bool dump = *asked_ == EndedBy::check_limit && request_.dump_goroutines;
      next = now + options.order_slack + (dump ? options.dump_grace : Duration{});
      spawn(send(std::string(dump ? kOrderEnd : kOrderKill)));
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
  closing_ = true;
  next_look_.cancel();
  boost::system::error_code ignored;
  (void)in_.close(ignored);
  for (Pipe* const pipe : {&out_, &err_, &end_}) (void)pipe->close(ignored);
  while (children_ > 0) co_await sleep_until(TimePoint::max());
  const TimePoint give_up = steady_clock::now() + host_.options->kill_budget;
  bool gone = cgroup_.remove();
  while (!gone && steady_clock::now() < give_up) {
    co_await sleep_until(steady_clock::now() + kAgain);
    gone = cgroup_.remove();
  }
  unremoved_ = running_ || !gone;
  if (!gone) rest_ = std::move(cgroup_);
  marks_.remove();
}

asio::awaitable<void> BubblewrapSession::drive() {
  const std::shared_ptr<BubblewrapSession> self = shared_from_this();
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
  switch (end->end) {
    case WrapperEnd::self: report_.ended_by = EndedBy::itself; break;
    case WrapperEnd::limit:
      if (!asked_) report_.ended_by = EndedBy::wrapper_limit;
      break;
    case WrapperEnd::order:
    case WrapperEnd::eof:
      if (asked_) break;
      report_.ended_by = EndedBy::engine;
      fail({.code = Errc::engine_protocol,
            .what = "the command was ended by an order that nobody gave",
            .detail = {},
            .hint = {}});
      break;
    case WrapperEnd::mount:
      report_.ended_by = EndedBy::engine;
      fail({.code = Errc::mount_probe_failed,
            .what = "the sandbox sees something else at " + end->what + " than this host",
            .detail = {},
            .hint = {}});
      break;
    case WrapperEnd::exec:
      // The command's fault, not the sandbox's: exit code 126 or 127, as a shell says it.
      report_.ended_by = EndedBy::itself;
      note({.code = Errc::process_failed,
            .what = "'" + request_.command.front() + "' can't be run in the image",
            .detail = end->what,
            .hint = {}});
      break;
  }
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
