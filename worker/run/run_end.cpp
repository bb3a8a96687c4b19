// How a run comes to its end: the engine's word for it, and the limit, the cancellation or the disk
// budget that makes one.
#include "common/async/no_throw.hpp"
#include "worker/run/run_session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace cupel::worker {

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace {

constexpr Duration kAgainMax = std::chrono::seconds(5);

}  // namespace

void RunSession::take_end(std::int32_t exit_code) {
  if (ended_ && report_.engine_exit_code != exit_code) {
    note({.code = Errc::engine_protocol,
          .what = "the engine names different exit codes",
          .detail = std::to_string(report_.engine_exit_code) + ", " + std::to_string(exit_code),
          .hint = {}});
    report_.engine_exit_code = -1;
    return;
  }
  report_.engine_exit_code = exit_code;
  ended_ = true;
  wake();
}

/// What the engine says of the container now. False when it doesn't answer.
RunSession::Step RunSession::ask_state() {
  const auto state = co_await host_.engine->inspect(container_);
  if (state) {
    if (state->ended() && waiting()) take_end(state->exit_code);
    co_return true;
  }
  if (state.error().code != Errc::not_found) co_return false;
  if (waiting()) {
    wait_error_ = Error{.code = Errc::engine_protocol,
                        .what = "the container was lost: the engine doesn't know it any more",
                        .detail = state.error().detail,
                        .hint = {}};
    wake();
  }
  co_return true;
}

/// A wait that breaks says nothing of the container: its state is asked for, and the wait made
/// again, until the engine has been silent for too long: an engine that went away took the run's
/// attachment along, and the wrapper ends the command then. An answer that makes no sense is the
/// engine's last word.
asio::awaitable<void> RunSession::wait_for_end() {
  co_await asio::this_coro::throw_if_cancelled(false);
  const ExecutorOptions& options = *host_.options;
  const TimePoint give_up = steady_clock::now() + request_.limit + options.wrapper_slack +
                            options.dump_grace + options.times.wait_slack;
  asio::steady_timer timer(host_.executor);
  Duration pause = options.times.again;
  std::optional<TimePoint> silent_since;
  while (waiting()) {
    const TimePoint asked_at = steady_clock::now();
    const auto answer = co_await host_.engine->wait(container_, give_up - asked_at);
    if (answer) {
      take_end(answer->exit_code);
      co_return;
    }
    const Errc code = answer.error().code;
    if (code == Errc::cancelled) co_return;
    if (code == Errc::engine_protocol) {
      wait_error_ = answer.error();
      co_return;
    }
    if (code != Errc::not_found) {
      ++report_.wait_breaks;
      note(answer.error());
    }
    const TimePoint broke_at = steady_clock::now();
    const bool answered = co_await ask_state();
    if (!waiting()) co_return;
    silent_since = answered ? std::nullopt : std::optional(silent_since.value_or(broke_at));
    if (silent_since && steady_clock::now() - *silent_since >= options.times.silence) {
      wait_error_ = answer.error();
      co_return;
    }
    if (steady_clock::now() - asked_at > kAgainMax) pause = options.times.again;
    if (steady_clock::now() + pause >= give_up) {
      wait_error_ = answer.error();
      co_return;
    }
    timer.expires_after(std::chrono::ceil<steady_clock::duration>(pause));
    const auto [cancelled] = co_await timer.async_wait(kNoThrow);
    if (cancelled) co_return;
    pause = std::min(pause * 2, kAgainMax);
  }
}

/// An end that the engine never tells the wait of costs seconds, not the whole limit.
asio::awaitable<void> RunSession::look_for_end() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer timer(host_.executor);
  while (waiting()) {
    timer.expires_after(std::chrono::ceil<steady_clock::duration>(host_.options->times.look));
    const auto [cancelled] = co_await timer.async_wait(kNoThrow);
    if (cancelled || !waiting()) co_return;
    (void)co_await ask_state();
  }
}

/// Tells the wrapper; its trailer then says what it saw. force_end() follows when it doesn't end.
asio::awaitable<void> RunSession::order_end() {
  ordered_ = true;
  const Result<void> sent = co_await attachment_.send(std::string(dumps() ? kOrderEnd : kOrderKill),
                                                      host_.options->times.order_slack);
  if (!sent) note(sent.error());
}

asio::awaitable<void> RunSession::force_end() {
  const Result<void> killed = co_await host_.engine->kill(container_);
  if (!killed) note(killed.error());
  const TimePoint give_up = steady_clock::now() + host_.engine->options().budgets.second_wait;
  while (waiting() && steady_clock::now() < give_up) co_await sleep_until(give_up);
  if (waiting()) (void)co_await ask_state();
  if (ended_) co_return;
  if (wait_error_) {
    fail(*wait_error_);
    co_return;
  }
  fail({.code = Errc::engine_timeout,
        .what = "the container did not end after it was killed",
        .detail = killed ? std::string() : killed.error().text(),
        .hint = {}});
}

/// From start to end: limit, cancellation and disk budget all become one order, then one kill.
asio::awaitable<void> RunSession::supervise() {
  const TimePoint limit_at = started_at_ + request_.limit;
  TimePoint next = limit_at;
  while (waiting()) {
    const TimePoint now = steady_clock::now();
    if (!asked_ && now >= limit_at) asked_ = EndedBy::check_limit;
    if (asked_ && !ordered_) {
      next = now + host_.options->times.order_slack +
             (dumps() ? host_.options->dump_grace : Duration{});
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
  // The engine can't say how it ended. Nothing is known of the container, so it must not go on.
  fail(*wait_error_);
  if (!asked_) asked_ = EndedBy::engine;
  const Result<void> killed = co_await host_.engine->kill(container_);
  if (!killed) note(killed.error());
}

}  // namespace cupel::worker
