/// The queue between whoever produces Server-Sent Events and the connection that writes them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace cupel::http {

struct Event {
  std::uint64_t id = 0;  ///< `id:`; 0 = none.
  std::string type;      ///< `event:`; empty = none.
  std::string data;      ///< `data:`; one line.
};

/// Bounded: send() waits for room, so a slow client slows its producer and nobody else. Everything
/// runs on the server's loop. The server writes keep-alive comments by itself while nothing is
/// queued.
class EventStream {
 public:
  EventStream(boost::asio::any_io_executor loop, std::size_t queue_max = 256);
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  /// False once the client is gone or close() was called: stop producing.
  boost::asio::awaitable<bool> send(Event event);
  /// No more events; what is queued is still written, then the connection ends.
  void close();
  [[nodiscard]] bool closed() const { return closed_; }
  /// Called once when the client is gone or the server stops, so that a producer that waits
  /// elsewhere wakes up.
  void on_gone(std::function<void()> callback);

  // For the server:
  /// The next events as text, at most about `bytes_max`; empty when `deadline` passed (a keep-alive
  /// is due) or, with closed(), when nothing is left.
  boost::asio::awaitable<std::string> take(std::size_t bytes_max,
                                           std::chrono::steady_clock::time_point deadline);
  void gone();

 private:
  std::size_t queue_max_;
  std::deque<std::string> queue_;
  boost::asio::steady_timer room_;
  boost::asio::steady_timer filled_;
  std::function<void()> on_gone_;
  bool closed_ = false;
  bool gone_ = false;
};

}  // namespace cupel::http
