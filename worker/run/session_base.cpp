#include "worker/run/session_base.hpp"

#include "common/async/no_throw.hpp"
#include "common/fs/files.hpp"
#include "worker/core/engine/exit_spec.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <vector>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kNotesMax = 32;

Error wrong_place(const std::string& path, const SessionWords& words) {
  if (path == kNetworkLink) {
    return {.code = Errc::unsafe_sandbox,
            .what = words.place + " is not in the network that it was given" + words.where,
            .detail = {},
            .hint = {}};
  }
  return {.code = Errc::mount_probe_failed,
          .what = words.place + " sees something else at " + path + " than this host" + words.where,
          .detail = {},
          .hint = {}};
}

}  // namespace

SessionBase::SessionBase(Means means, RunRequest request)
    : means_(std::move(means)),
      request_(std::move(request)),
      nonce_(fs::random_hex(16)),
      wake_(means_.executor),
      next_look_(means_.executor) {}

void SessionBase::ask(EndedBy reason) {
  if (!asked_) asked_ = reason;
  wake();
}

void SessionBase::fail(Error error) {
  if (!report_.error) {
    report_.error = std::move(error);
  } else {
    note(error);
  }
}

void SessionBase::note(const Error& error) {
  if (report_.notes.size() < kNotesMax) report_.notes.push_back(error.what + ": " + error.detail);
}

asio::awaitable<void> SessionBase::sleep_until(TimePoint time) {
  wake_.expires_at(std::chrono::time_point_cast<steady_clock::duration>(time));
  (void)co_await wake_.async_wait(kNoThrow);
}

void SessionBase::spawn(asio::awaitable<void> task, asio::cancellation_slot slot) {
  ++parts_;
  auto on_end = [self = shared_from_this()](const std::exception_ptr& failure) {
    --self->parts_;
    if (failure) {
      self->fail({.code = Errc::bug,
                  .what = "a part of a run ended with an exception",
                  .detail = {},
                  .hint = {}});
    }
    self->wake();
  };
  asio::co_spawn(means_.executor, std::move(task),
                 asio::bind_cancellation_slot(slot, std::move(on_end)));
}

asio::awaitable<void> SessionBase::join_parts() {
  while (parts_ > 0) co_await sleep_until(TimePoint::max());
}

asio::awaitable<void> SessionBase::watch_mounts() {
  const auto mounts = profile_mounts(request_);
  std::vector<std::string> roots;
  for (const BoundMount& mount : *mounts) {
    if (mount.writable) roots.push_back(mount.host_path);
  }
  const fs::GrowthBudget budget = means_.mount_budget;
  auto measure = [roots, budget] { return std::make_shared<fs::GrowthWatch>(roots, budget); };
  const std::shared_ptr<fs::GrowthWatch> watch =
      co_await offload(*means_.files, std::move(measure));
  const auto period = std::chrono::duration_cast<steady_clock::duration>(means_.watch_period);
  while (!closing_) {
    auto look = [watch] { return watch->overrun(); };
    const std::optional<std::string> overrun = co_await offload(*means_.files, std::move(look));
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

void SessionBase::stop_watch() {
  closing_ = true;
  next_look_.cancel();
}

WrapperOrders SessionBase::orders(Duration wrapper_slack, Duration dump_grace) const {
  WrapperOrders orders;
  orders.nonce = nonce_;
  orders.limit = request_.limit + wrapper_slack;
  orders.grace = dump_grace;
  orders.dump = request_.dump_goroutines;
  return orders;
}

bool SessionBase::dumps() const {
  return asked_ == EndedBy::check_limit && request_.dump_goroutines;
}

void SessionBase::judge_trailer(const WrapperReport& end, const SessionWords& words) {
  switch (end.end) {
    case WrapperEnd::self: report_.ended_by = EndedBy::itself; break;
    case WrapperEnd::limit:
      if (!asked_) report_.ended_by = EndedBy::wrapper_limit;
      break;
    case WrapperEnd::order:
      if (asked_) break;
      report_.ended_by = EndedBy::engine;
      fail({.code = Errc::engine_protocol,
            .what = "the command was ended by an order that nobody gave",
            .detail = {},
            .hint = {}});
      break;
    case WrapperEnd::eof:
      if (asked_) break;
      report_.ended_by = EndedBy::engine;
      fail(words.lost_stdin);
      break;
    case WrapperEnd::mount:
      report_.ended_by = EndedBy::engine;
      fail(wrong_place(end.what, words));
      break;
    case WrapperEnd::exec:
      // The command's fault, not the engine's: exit code 126 or 127, as a shell says it.
      report_.ended_by = EndedBy::itself;
      note({.code = Errc::process_failed,
            .what = "'" + request_.command.front() + "' can't be run in the image",
            .detail = end.what,
            .hint = {}});
      break;
  }
}

asio::awaitable<void> drive_shielded(asio::any_io_executor executor, std::shared_ptr<Course> course,
                                     std::shared_ptr<CancelToken> cancel,
                                     asio::awaitable<void> drive) {
  const auto done = std::make_shared<asio::steady_timer>(executor, TimePoint::max());
  if (cancel) cancel->listen([course] { course->ask(EndedBy::cancelled); });
  auto on_end = [done, course](const std::exception_ptr& failure) {
    if (failure) {
      course->report.error = Error{
          .code = Errc::bug, .what = "a run ended with an exception", .detail = {}, .hint = {}};
    }
    course->finished = true;
    done->cancel();
  };
  asio::co_spawn(executor, std::move(drive), std::move(on_end));

  co_await asio::this_coro::throw_if_cancelled(false);
  if (!course->finished) (void)co_await done->async_wait(kNoThrow);
  if (!course->finished) course->ask(EndedBy::cancelled);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  while (!course->finished) (void)co_await done->async_wait(kNoThrow);
  if (cancel) cancel->listen({});
}

}  // namespace cupel::worker
