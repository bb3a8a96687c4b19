#include "worker/run/run_session.hpp"

#include "common/fs/files.hpp"
#include "worker/run/mount_watch.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr Duration kOrdersBudget = seconds(10);
constexpr Duration kOrderSlack = seconds(5);   // for the wrapper to reap, flush and say its end
constexpr Duration kOutputTail = seconds(10);  // for the engine to pass on what is written
constexpr Duration kWaitSlack = seconds(30);

}  // namespace

RunSession::RunSession(Host host, RunRequest request, RunIdentity identity, OutputSink output)
    : host_(std::move(host)),
      request_(std::move(request)),
      identity_(std::move(identity)),
      nonce_(fs::random_hex(16)),
      sink_(std::move(output)),
      wake_(host_.executor),
      next_look_(host_.executor) {}

void RunSession::ask(EndedBy reason) {
  if (!asked_) asked_ = reason;
  wake();
}

void RunSession::fail(Error error) {
  if (!report_.error) {
    report_.error = std::move(error);
  } else {
    note(error);
  }
}

void RunSession::note(const Error& error) {
  constexpr std::size_t kNotesMax = 32;
  if (report_.notes.size() < kNotesMax) report_.notes.push_back(error.what + ": " + error.detail);
}

/// Runs beside drive(), which waits for it: nothing outlives the session.
void RunSession::spawn(asio::awaitable<void> task) {
  ++children_;
  asio::co_spawn(host_.executor, std::move(task),
                 [self = shared_from_this()](const std::exception_ptr& failure) {
                   --self->children_;
                   if (failure) {
                     self->fail({.code = Errc::bug,
                                 .what = "a part of a run ended with an exception",
                                 .detail = {},
                                 .hint = {}});
                   }
                   self->wake();
                 });
}

asio::awaitable<void> RunSession::sleep_until(TimePoint time) {
  wake_.expires_at(std::chrono::time_point_cast<steady_clock::duration>(time));
  (void)co_await wake_.async_wait(kNoThrow);
}

RunSession::Step RunSession::prepare(const ImageTraits& image) {
  const ExecutorOptions& options = *host_.options;
  Result<std::string> spec = container_spec(request_, options.context, image, identity_);
  if (!spec) {
    fail(spec.error());
    co_return false;
  }
  spec_ = std::move(*spec);
  WrapperOrders orders;
  orders.nonce = nonce_;
  orders.limit = request_.limit + options.wrapper_slack;
  orders.grace = options.dump_grace;
  orders.dump = request_.dump_goroutines;
  struct Placed {
    Result<RunMarks> marks;
    WrapperOrders orders;
  };
  auto place = [request = request_, run_id = identity_.run_id, orders]() mutable {
    auto marks = std::make_shared<Placed>(Placed{RunMarks(), std::move(orders)});
    marks->marks = RunMarks::place(request, run_id, marks->orders);
    return marks;
  };
  const std::shared_ptr<Placed> placed = co_await offload(*host_.files, std::move(place));
  if (!placed->marks) {
    fail(placed->marks.error());
    co_return false;
  }
  marks_ = std::move(*placed->marks);
  Result<std::string> encoded = encode_orders(placed->orders);
  if (!encoded) {
    fail(encoded.error());
    co_return false;
  }
  orders_ = std::move(*encoded);
  co_return true;
}

RunSession::Step RunSession::create(std::string spec) {
  Result<std::string> created = co_await host_.engine->create(
      container_name(host_.options->context, identity_), std::move(spec));
  if (created) {
    container_ = std::move(*created);
    co_return true;
  }
  fail(created.error());
  const Errc code = created.error().code;
  if (code == Errc::image_missing || code == Errc::engine_refused) co_return false;
  // The create may have happened, or may still happen: what is there now is found by its label, and
  // what appears later is the reaper's.
  parked_ = true;
  const std::string by_run = std::string(label::kRun) + "=" + identity_.run_id;
  const std::vector<std::string> labels{by_run};
  const auto found = co_await host_.engine->list(labels);
  if (!found) {
    note(found.error());
  } else if (!found->empty()) {
    container_ = found->front().id;
  }
  co_return false;
}

RunSession::Step RunSession::begin() {
  Result<docker::Attachment> attached = co_await host_.engine->attach(container_);
  if (!attached) {
    fail(attached.error());
    co_return false;
  }
  attachment_ = std::move(*attached);
  output_ = std::make_unique<RunOutput>(nonce_, request_.limits.output_bytes, sink_);
  if (asked_) {
    report_.ended_by = *asked_;
    co_return false;
  }
  const Result<void> started = co_await host_.engine->start(container_);
  if (!started) {
    fail(started.error());
    co_return false;
  }
  started_at_ = steady_clock::now();
  const Result<void> sent = co_await attachment_.send(std::move(orders_), kOrdersBudget);
  if (!sent) {
    fail(sent.error());
    ask(EndedBy::engine);  // it waits for orders that won't come
  }
  co_return true;
}

asio::awaitable<void> RunSession::read_output() {
  while (true) {
    const Result<std::string> piece = co_await attachment_.read();
    if (!piece || piece->empty()) break;
    output_->feed_frames(*piece);
  }
  output_ended_ = true;
}

asio::awaitable<void> RunSession::wait_for_end() {
  const ExecutorOptions& options = *host_.options;
  const Duration limit = request_.limit + options.wrapper_slack + options.dump_grace + kWaitSlack;
  const Result<docker::WaitAnswer> answer = co_await host_.engine->wait(container_, limit);
  if (answer) {
    report_.engine_exit_code = answer->exit_code;
    ended_ = true;
  } else {
    wait_error_ = answer.error();
  }
}

asio::awaitable<void> RunSession::watch_mounts() {
  const auto mounts = profile_mounts(request_);
  std::vector<std::string> roots;
  for (const BoundMount& mount : *mounts) {
    if (mount.writable) roots.push_back(mount.host_path);
  }
  const MountBudget budget = host_.options->mount_budget;
  auto measure = [roots, budget] { return std::make_shared<MountWatch>(roots, budget); };
  const std::shared_ptr<MountWatch> watch = co_await offload(*host_.files, std::move(measure));
  const auto period =
      std::chrono::duration_cast<steady_clock::duration>(host_.options->watch_period);
  while (!stopping_watch_) {
    auto look = [watch] { return watch->overrun(); };
    const std::optional<std::string> overrun = co_await offload(*host_.files, std::move(look));
    if (overrun) {
      report_.mount_budget_hit = true;
      report_.notes.push_back(*overrun);
      ask(EndedBy::watcher_disk);
      break;
    }
    if (stopping_watch_) break;
    next_look_.expires_after(period);
    (void)co_await next_look_.async_wait(kNoThrow);
  }
}

/// Tells the wrapper; its trailer then says what it saw. force_end() follows when it doesn't end.
asio::awaitable<void> RunSession::order_end() {
  ordered_ = true;
  const bool dump = *asked_ == EndedBy::check_limit && request_.dump_goroutines;
  const Result<void> sent =
      co_await attachment_.send(std::string(dump ? kOrderEnd : kOrderKill), kOrderSlack);
  if (!sent) note(sent.error());
}

asio::awaitable<void> RunSession::force_end() {
  const Result<void> killed = co_await host_.engine->kill(container_);
  if (!killed) note(killed.error());
  const TimePoint give_up = steady_clock::now() + host_.engine->options().budgets.second_wait;
  while (!ended_ && !wait_error_ && steady_clock::now() < give_up) co_await sleep_until(give_up);
  if (ended_) co_return;
  fail({.code = Errc::engine_timeout,
        .what = "the container did not end after it was killed",
        .detail = wait_error_ ? wait_error_->what : std::string(),
        .hint = {}});
}

/// From start to end: limit, cancellation and disk budget all become one order, then one kill.
asio::awaitable<void> RunSession::supervise() {
  const TimePoint limit_at = started_at_ + request_.limit;
  TimePoint next = limit_at;
  while (!ended_ && !wait_error_) {
    const TimePoint now = steady_clock::now();
    if (!asked_ && now >= limit_at) asked_ = EndedBy::check_limit;
    if (asked_ && !ordered_) {
      const bool dump = *asked_ == EndedBy::check_limit && request_.dump_goroutines;
      next = now + kOrderSlack + (dump ? host_.options->dump_grace : Duration{});
      co_await order_end();
      continue;
    }
    if (ordered_ && now >= next) {
      co_await force_end();
      co_return;
    }
    co_await sleep_until(next);
  }
  if (!wait_error_) co_return;
  // The engine stopped answering the wait. Nothing is known of the container, so it must not go on.
  fail(*wait_error_);
  if (!asked_) asked_ = EndedBy::engine;
  const Result<void> killed = co_await host_.engine->kill(container_);
  if (!killed) note(killed.error());
}

/// What the container left: the rest of its output, its state.
asio::awaitable<void> RunSession::collect() {
  const TimePoint give_up = steady_clock::now() + kOutputTail;
  while (!output_ended_ && steady_clock::now() < give_up) co_await sleep_until(give_up);
  attachment_.close();
  output_->finish();
  if (!output_->report() && ended_) {
    // The followed stream was cut: the stored log is the second source, if it still has the head.
    auto stored = std::make_unique<RunOutput>(nonce_, request_.limits.output_bytes, OutputSink());
    const docker::LogEnd end = co_await host_.engine->logs(
        container_, log_bytes_bound(request_.limits),
        [&stored](Stream stream, std::string_view bytes) { stored->feed_payload(stream, bytes); });
    if (end.error) note(*end.error);
    stored->finish();
    if (stored->report() && stored->started()) output_ = std::move(stored);
  }
  const auto state = co_await host_.engine->inspect(container_);
  if (!state) {
    note(state.error());
    co_return;
  }
  report_.engine_oom_killed = state->oom_killed;
  if (ended_ && state->exit_code != report_.engine_exit_code) {
    note({.code = Errc::engine_protocol,
          .what = "wait and inspect name different exit codes",
          .detail =
              std::to_string(report_.engine_exit_code) + ", " + std::to_string(state->exit_code),
          .hint = {}});
    report_.engine_exit_code = -1;
  }
}

asio::awaitable<void> RunSession::clean_up() {
  stopping_watch_ = true;
  next_look_.cancel();
  attachment_.close();
  if (!container_.empty()) {
    const Result<void> removed = co_await host_.engine->remove(container_);
    if (removed) {
      parked_ = false;  // names are unique: it can't appear again
    } else {
      note(removed.error());
      parked_ = true;
    }
  }
  while (children_ > 0) co_await sleep_until(TimePoint::max());
  marks_.remove();
}

/// Who ended it, and whether what was seen can be explained.
void RunSession::judge() {
  if (asked_) report_.ended_by = *asked_;
  if (!output_) return;
  const std::optional<WrapperReport> end = output_->report();
  output_->fill(report_);
  if (!end) {
    if (!asked_ && started_at_ != TimePoint{}) report_.ended_by = EndedBy::engine;
    return;
  }
  switch (end->end) {
    case WrapperEnd::self: report_.ended_by = EndedBy::itself; break;
    case WrapperEnd::limit:
      if (!asked_) report_.ended_by = EndedBy::wrapper_limit;
      break;
    case WrapperEnd::order: break;
    case WrapperEnd::eof:
      if (asked_) break;
      report_.ended_by = EndedBy::engine;
      fail({.code = Errc::engine_unreachable,
            .what = "the connection to the container broke while it ran",
            .detail = {},
            .hint = {}});
      break;
    case WrapperEnd::mount:
      report_.ended_by = EndedBy::engine;
      fail({.code = Errc::mount_probe_failed,
            .what = "the container sees something else at " + end->what +
                    " than this host (engine socket " + host_.engine->options().socket_path + ")",
            .detail = {},
            .hint = {}});
      break;
    case WrapperEnd::exec:
      // The command's fault, not the engine's: exit code 126 or 127, as a shell says it.
      report_.ended_by = EndedBy::itself;
      note({.code = Errc::process_failed,
            .what = "'" + request_.command.front() + "' can't be run in the image",
            .detail = end->what,
            .hint = {}});
      break;
  }
}

asio::awaitable<void> RunSession::drive(ImageTraits image) {
  const std::shared_ptr<RunSession> self = shared_from_this();
  const bool prepared = co_await prepare(image);
  const bool created = prepared && !asked_ && co_await create(std::move(spec_));
  if (created && co_await begin()) {
    spawn(read_output());
    spawn(wait_for_end());
    spawn(watch_mounts());
    co_await supervise();
    report_.wall = steady_clock::now() - started_at_;
    co_await collect();
  }
  co_await clean_up();
  judge();
}

}  // namespace cupel::worker
