/// Private to common/net: what libzmq tells about the connections of one socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace zmq {
class context_t;
class socket_t;
}  // namespace zmq

namespace cupel::net {

enum class MonitorEvent : std::uint8_t {
  connected,     ///< Handshake done.
  disconnected,  ///< A connection whose handshake was done, or was not, is gone.
  denied,        ///< By the trust list of the server.
  failed,        ///< Another mechanism, another server key, noise, or the time was up.
};

/// Made before the first connect or bind, destroyed before the socket.
class Monitor {
 public:
  Monitor(zmq::context_t& context, zmq::socket_t& watched);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();

  /// For waiting.
  [[nodiscard]] zmq::socket_t& socket() { return *events_; }
  /// The next event that is one of ours; nothing when there is none now.
  [[nodiscard]] std::optional<MonitorEvent> next();

 private:
  zmq::socket_t& watched_;
  std::unique_ptr<zmq::socket_t> events_;
};

}  // namespace cupel::net
