/// A callback that some other thread calls, as an awaitable.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace cupel::async {

/// Calls `start(done)`; the coroutine goes on, on its own executor, with the value given to `done`,
/// which may be called on any thread and must be called exactly once, before the coroutine's
/// io_context ends. The wait can't be cancelled.
template <typename T, typename Start>
[[nodiscard]] boost::asio::awaitable<T> await_callback(Start start) {
  namespace asio = boost::asio;
  auto initiate = [](auto handler, Start begin) {
    auto executor = asio::get_associated_executor(handler);
    auto guard = asio::make_work_guard(executor);
    auto kept = std::make_shared<decltype(handler)>(std::move(handler));
    begin(std::function<void(T)>([kept, executor, guard](T value) {
      asio::post(executor, [kept, value = std::move(value)]() mutable {
        std::move (*kept)(std::move(value));
      });
    }));
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(T)>(
      std::move(initiate), asio::use_awaitable, std::move(start));
}

}  // namespace cupel::async
