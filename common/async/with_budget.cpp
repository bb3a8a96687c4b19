#include "common/async/with_budget.hpp"

namespace cupel::async {

namespace asio = boost::asio;

asio::awaitable<bool> sleep_for(Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  boost::system::error_code error;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

namespace {

asio::awaitable<bool> then_true(asio::awaitable<void> operation) {
  co_await std::move(operation);
  co_return true;
}

}  // namespace

asio::awaitable<bool> with_budget(asio::awaitable<void> operation, Duration budget) {
  const auto done = co_await with_budget(then_true(std::move(operation)), budget);
  co_return done.has_value();
}

}  // namespace cupel::async
