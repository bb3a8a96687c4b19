/// The connections that an exit container passes on, each as a local socket of the proxy. Knows
/// neither container nor engine: frames in, frames out.
///
/// Thread rule: one thread. Used through a shared pointer, which its coroutines hold.
#pragma once

#include "worker/core/egress/exit_messages.hpp"
#include "worker/egress/proxy.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cupel::worker::egress {

class ExitStreams : public std::enable_shared_from_this<ExitStreams> {
 public:
  using Send = std::function<void(ExitMessage)>;

  ExitStreams(boost::asio::any_io_executor executor, Proxy& proxy, std::string peer, Send send);
  ~ExitStreams();
  ExitStreams(const ExitStreams&) = delete;
  ExitStreams& operator=(const ExitStreams&) = delete;

  /// A frame with a stream. False: one that no exit container sends.
  [[nodiscard]] bool take(ExitMessage message);
  /// Ends them all; nothing is sent any more.
  void stop();
  /// Returns when no coroutine of theirs is left; after stop().
  [[nodiscard]] boost::asio::awaitable<void> join();

  struct Stream;

 private:
  using StreamPtr = std::shared_ptr<Stream>;

  [[nodiscard]] bool begin(std::uint32_t id);
  [[nodiscard]] boost::asio::awaitable<void> to_proxy(StreamPtr stream);
  [[nodiscard]] boost::asio::awaitable<void> from_proxy(StreamPtr stream);
  void spawn(boost::asio::awaitable<void> way);
  void send(ExitMessage message);
  void cut(const StreamPtr& stream);
  void forget_ended(const StreamPtr& stream);

  boost::asio::any_io_executor executor_;
  Proxy& proxy_;
  std::string peer_;
  Send send_;
  std::map<std::uint32_t, StreamPtr> streams_;
  std::uint32_t last_ = 0;  ///< The newest stream's number.
  std::size_t ways_ = 0;    ///< Coroutines that run.
  boost::asio::steady_timer all_ended_;
};

}  // namespace cupel::worker::egress
