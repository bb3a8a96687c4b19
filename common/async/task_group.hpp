/// Owns coroutines, so that nothing runs detached: spawn, cancel all, wait for all.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace cupel::async {

/// Single-threaded: used on the executor's one thread only. Destroying the group cancels what still
/// runs without waiting for it; the coroutines must not use what dies with the owner, so join
/// first.
class TaskGroup {
 public:
  /// Gets what escaped a coroutine: a bug, to be logged. `operation_aborted` after a cancel is
  /// none.
  using OnException = std::function<void(std::exception_ptr)>;

  TaskGroup(boost::asio::any_io_executor executor, OnException on_exception);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup();

  /// Starts it on the executor, not inside this call. After cancel() it is not started: false.
  bool spawn(boost::asio::awaitable<void> task);
  /// Asks every coroutine to stop (terminal cancellation) and takes no new one. Idempotent.
  void cancel();
  /// Returns when no coroutine is left. Does not cancel by itself; is itself safe from cancellation
  /// only as far as the caller shields it. Several may wait.
  [[nodiscard]] boost::asio::awaitable<void> join();
  [[nodiscard]] std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cupel::async
