/// Private to common/net: one ZeroMQ socket on an io_context, without a thread or a poll of its
/// own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <zmq.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace cupel::net {

/// A turn reads at most that much before other handlers of the thread have theirs.
inline constexpr std::size_t kMessagesPerTurn = 256;
inline constexpr std::size_t kBytesPerTurn = 4 * 1024 * 1024;

/// The descriptor of a ZeroMQ socket only says that something may have changed, and any call on the
/// socket may swallow that sign. So before the descriptor is waited for, a receive has found
/// nothing: the last one of each turn, and sends outside of a turn are followed by one.
class SocketPump : public std::enable_shared_from_this<SocketPump> {
 public:
  /// Reads until nothing is there (false), at most one turn's worth (true when it stopped at that
  /// bound).
  using Drain = std::function<bool()>;

  SocketPump(boost::asio::io_context& io, zmq::socket_t& socket, Drain drain);
  SocketPump(const SocketPump&) = delete;
  SocketPump& operator=(const SocketPump&) = delete;
  /// Gives the descriptor back: it is libzmq's.
  ~SocketPump();

  /// The first turn comes from the io_context, not from inside this call.
  void start() { schedule(); }
  /// To be called after each send on the socket. The sends of one handler share the turn behind
  /// them: a look costs a system call.
  void after_send();
  /// Before the socket closes; the drain is not called afterwards.
  void stop();
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  void schedule();
  void turn();
  void wait();

  boost::asio::io_context& io_;
  Drain drain_;
  boost::asio::posix::stream_descriptor descriptor_;
  bool in_turn_ = false;
  bool scheduled_ = false;
  bool waiting_ = false;
  bool stopped_ = false;
};

/// A frame, if one is there now. A context that is going down counts as none.
[[nodiscard]] bool receive_now(zmq::socket_t& socket, zmq::message_t& frame);

}  // namespace cupel::net
