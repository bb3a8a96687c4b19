/// A budget for one awaitable: its own clock, which starts with the call.
#pragma once

#include "common/core/time.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>
#include <utility>
#include <variant>

namespace cupel::async {

/// Sleeps; false when cancelled. Never throws for a cancellation.
[[nodiscard]] boost::asio::awaitable<bool> sleep_for(Duration time);

/// The value, or nothing when the budget was spent: then the operation has been cancelled and has
/// ended. What it had gathered is lost, so let it gather into the caller's frame. Only on a
/// single-threaded io_context.
template <typename T>
[[nodiscard]] boost::asio::awaitable<std::optional<T>> with_budget(
    boost::asio::awaitable<T> operation, Duration budget) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, budget);
  boost::system::error_code ignored;
  auto first = co_await (std::move(operation) ||
                         timer.async_wait(redirect_error(boost::asio::use_awaitable, ignored)));
  if (first.index() == 1) co_return std::nullopt;
  co_return std::get<0>(std::move(first));
}

/// Same for an operation without a value: false when the budget was spent.
[[nodiscard]] boost::asio::awaitable<bool> with_budget(boost::asio::awaitable<void> operation,
                                                       Duration budget);

}  // namespace cupel::async
