/// An io_context with its one thread.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <thread>

namespace cupel::worker {

class Loop {
 public:
  Loop() : io_(1), work_(boost::asio::make_work_guard(io_)) {}

  void start() {
    thread_ = std::thread([this] { io_.run(); });
  }
  /// Waits for the thread; something on the loop must have stopped it.
  void join() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] boost::asio::io_context& io() { return io_; }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace cupel::worker
