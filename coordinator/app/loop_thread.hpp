/// An event loop with a thread of its own.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <string>
#include <thread>
#include <utility>

namespace cupel::coordinator {

/// Ends when join() is called. An exception on the loop ends the process.
class LoopThread {
 public:
  explicit LoopThread(std::string name) : name_(std::move(name)) {}
  ~LoopThread() { join(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  [[nodiscard]] boost::asio::io_context& io() { return io_; }
  void start();
  void join();

 private:
  std::string name_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(io_);
  std::thread thread_;
};

}  // namespace cupel::coordinator
