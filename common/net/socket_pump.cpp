#include "common/net/socket_pump.hpp"

#include <boost/asio/post.hpp>

#include <cerrno>

namespace cupel::net {

SocketPump::SocketPump(boost::asio::io_context& io, zmq::socket_t& socket, Drain drain)
    : io_(io), drain_(std::move(drain)), descriptor_(io, socket.get(zmq::sockopt::fd)) {}

SocketPump::~SocketPump() {
  stop();
}

void SocketPump::stop() {
  if (std::exchange(stopped_, true)) return;
  descriptor_.cancel();
  descriptor_.release();
}

void SocketPump::after_send() {
  if (!stopped_ && !in_turn_) schedule();
}

void SocketPump::schedule() {
  if (std::exchange(scheduled_, true)) return;
  boost::asio::post(io_, [self = shared_from_this()] {
    self->scheduled_ = false;
    self->turn();
  });
}

void SocketPump::turn() {
  if (stopped_) return;
  in_turn_ = true;
  const bool more = drain_();
  in_turn_ = false;
  if (stopped_) return;
  if (more) {
    schedule();
  } else {
    wait();
  }
}

void SocketPump::wait() {
  if (std::exchange(waiting_, true)) return;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waiting_ = false;
                           if (!error) self->turn();
                         });
}

bool receive_now(zmq::socket_t& socket, zmq::message_t& frame) {
  for (;;) {
    try {
      return socket.recv(frame, zmq::recv_flags::dontwait).has_value();
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) continue;
      if (error.num() == ETERM) return false;
      throw;
    }
  }
}

}  // namespace cupel::net
