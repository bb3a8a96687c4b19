/// A counting gate for coroutines of one thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace cupel::async {

class AsyncSemaphore;

namespace detail {
struct SemaphoreState;
}

/// Gives its place back when destroyed. Empty when the wait was cancelled.
class Permit {
 public:
  Permit() = default;
  Permit(Permit&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Permit& operator=(Permit&& other) noexcept;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  ~Permit() { release(); }
  explicit operator bool() const { return state_ != nullptr; }
  void release();

 private:
  friend class AsyncSemaphore;
  explicit Permit(std::shared_ptr<detail::SemaphoreState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::SemaphoreState> state_;
};

/// First come, first served. Single-threaded; permits may outlive it.
class AsyncSemaphore {
 public:
  AsyncSemaphore(boost::asio::any_io_executor executor, std::size_t places);
  /// Waits for a place. An empty permit means that the wait was cancelled; nothing is lost then.
  [[nodiscard]] boost::asio::awaitable<Permit> acquire();
  /// Without waiting; empty when none is free or others wait.
  [[nodiscard]] Permit try_acquire();
  [[nodiscard]] std::size_t free() const;
  [[nodiscard]] std::size_t waiting() const;

 private:
  std::shared_ptr<detail::SemaphoreState> state_;
};

}  // namespace cupel::async
