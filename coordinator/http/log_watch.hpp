/// Lets requests wait until some log has grown. Requests wait on the HTTP loop; who notifies may be
/// any thread, and wakes the loop only when somebody waits.
#pragma once

#include "common/core/time.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace cupel::coordinator::http {

class LogWatch {
 public:
  explicit LogWatch(boost::asio::io_context& loop) : loop_(loop) {}
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  /// To be asked before one looks, so that what comes between the look and the wait isn't missed.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// Until there are more changes than `seen`, or the time.
  [[nodiscard]] boost::asio::awaitable<void> changed(std::uint64_t seen, TimePoint until);
  void notify();

 private:
  boost::asio::io_context& loop_;
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<std::size_t> waiters_ = 0;  ///< Announced before changes_ is looked at.
  std::unordered_set<boost::asio::steady_timer*> waiting_;
};

}  // namespace cupel::coordinator::http
