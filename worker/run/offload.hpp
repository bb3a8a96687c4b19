/// Blocking work away from a loop: runs a function on a thread pool and resumes the caller on its
/// own executor.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <utility>

namespace cupel::worker {

/// The function owns what it needs (it may outlive a cancelled caller), must not throw, and returns
/// a value. A cancellation doesn't stop it.
template <typename Function>
[[nodiscard]] auto offload(boost::asio::thread_pool& pool, Function function)
    -> boost::asio::awaitable<decltype(function())> {
  using Value = decltype(function());
  auto initiation = [](auto handler, boost::asio::thread_pool* where, Function work) {
    auto executor = boost::asio::get_associated_executor(handler);
    auto guard = boost::asio::make_work_guard(executor);
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    boost::asio::post(
        *where, [shared, guard = std::move(guard), executor, work = std::move(work)]() mutable {
          auto value = std::make_shared<Value>(work());
          boost::asio::post(executor, [shared, value] { std::move (*shared)(std::move(*value)); });
        });
  };
  co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Value)>(
      std::move(initiation), boost::asio::use_awaitable, &pool, std::move(function));
}

}  // namespace cupel::worker
