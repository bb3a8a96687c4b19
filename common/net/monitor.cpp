#include "common/net/monitor.hpp"

#include "common/fs/files.hpp"

#include <zmq.hpp>

#include <cstring>
#include <string>

namespace cupel::net {
namespace {

constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

std::optional<MonitorEvent> event_of(std::uint16_t number) {
  switch (number) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: return MonitorEvent::connected;
    case ZMQ_EVENT_DISCONNECTED: return MonitorEvent::disconnected;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: return MonitorEvent::denied;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: return MonitorEvent::failed;
    default: return std::nullopt;
  }
}

}  // namespace

Monitor::Monitor(zmq::context_t& context, zmq::socket_t& watched)
    : watched_(watched), events_(std::make_unique<zmq::socket_t>(context, zmq::socket_type::pair)) {
  // The name is the context's: it must not be that of an older monitor that is still closing.
  const std::string endpoint = "inproc://cupel-monitor-" + fs::random_hex(8);
  if (zmq_socket_monitor(watched.handle(), endpoint.c_str(), kEvents) != 0) throw zmq::error_t();
  events_->set(zmq::sockopt::linger, 0);
  events_->connect(endpoint);
}

Monitor::~Monitor() {
  zmq_socket_monitor(watched_.handle(), nullptr, 0);
}

std::optional<MonitorEvent> Monitor::next() {
  for (;;) {
    zmq::message_t head;
    if (!events_->recv(head, zmq::recv_flags::dontwait)) return std::nullopt;
    std::uint16_t number = 0;
    if (head.size() >= sizeof number) std::memcpy(&number, head.data(), sizeof number);
    bool more = head.more();
    while (more) {
      zmq::message_t address;
      static_cast<void>(events_->recv(address));
      more = address.more();
    }
    if (const auto event = event_of(number)) return event;
  }
}

}  // namespace cupel::net
