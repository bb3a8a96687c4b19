/// A budget for one awaitable: its own clock, which starts with the call.
#pragma once

#include "common/core/time.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace cupel::async {

/// Sleeps; false when cancelled. Never throws for a cancellation.
[[nodiscard]] boost::asio::awaitable<bool> sleep_for(Duration time);

namespace detail {

/// What an awaitable came to. The operator || waits for a success, so an exception must not reach
/// it: it would be kept until the timer fires, and then be lost.
template <typename T>
struct Settled {
  std::optional<T> value;
  std::exception_ptr thrown;
};

template <typename T>
boost::asio::awaitable<Settled<T>> settled(boost::asio::awaitable<T> operation) {
  Settled<T> outcome;
  try {
    outcome.value.emplace(co_await std::move(operation));
  } catch (...) {
    outcome.thrown = std::current_exception();
  }
  co_return outcome;
}

}  // namespace detail

/// The value, or nothing when the budget was spent: then the operation has been cancelled and has
/// ended. What it had gathered is lost, so let it gather into the caller's frame. What it throws is
/// thrown here, and so is operation_aborted when the caller itself is cancelled. Only on a
/// single-threaded io_context.
template <typename T>
[[nodiscard]] boost::asio::awaitable<std::optional<T>> with_budget(
    boost::asio::awaitable<T> operation, Duration budget) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, budget);
  boost::system::error_code timer_error;
  auto first = co_await (detail::settled(std::move(operation)) ||
                         timer.async_wait(redirect_error(boost::asio::use_awaitable, timer_error)));
  if (first.index() == 1) {
    // A timer that was cancelled did not expire: the caller was.
    if (timer_error) throw boost::system::system_error(timer_error);
    co_return std::nullopt;
  }
  detail::Settled<T>& outcome = std::get<0>(first);
  if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  co_return std::move(outcome.value);
}

/// Same for an operation without a value: false when the budget was spent.
[[nodiscard]] boost::asio::awaitable<bool> with_budget(boost::asio::awaitable<void> operation,
                                                       Duration budget);

}  // namespace cupel::async
