/// Lets requests wait until some log has grown. Lives on the HTTP loop.
#pragma once

#include "common/core/time.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <unordered_set>

namespace cupel::coordinator::http {

class LogWatch {
 public:
  LogWatch() = default;
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  /// Until notify() or the time.
  [[nodiscard]] boost::asio::awaitable<void> changed(TimePoint until);
  void notify();

 private:
  std::unordered_set<boost::asio::steady_timer*> waiting_;
};

}  // namespace cupel::coordinator::http
