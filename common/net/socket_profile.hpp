/// Every option of the fleet's ZeroMQ sockets, set in one place and read back: libzmq accepts some
/// options in silence without honouring them.
#pragma once

#include "common/core/error.hpp"
#include "common/net/curve_keys.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zmq {
class socket_t;
}

namespace cupel::net {

/// Bulk must never delay a heartbeat, so each plane has a socket pair of its own.
enum class Plane : std::uint8_t { control, bulk };

/// The ZAP domain of all our sockets.
inline constexpr std::string_view kZapDomain = "cupel";

struct RouterProfile {
  Plane plane = Plane::control;
  std::optional<KeyPair> key;  ///< Nothing: plain (Router::bind decides where that is allowed).
  std::uint32_t handshake_ms = 5000;
  std::int64_t message_bytes_max = 0;  ///< 0: the plane's own limit.
};

struct DealerProfile {
  Plane plane = Plane::control;
  std::optional<KeyPair> key;        ///< Nothing: plain.
  PublicKey server;                  ///< The coordinator's key; needed with `key`.
  std::string routing_id;            ///< 1 to 255 bytes, the first not NUL.
  std::uint32_t reconnect_ms = 100;  ///< First interval; the caller adds its jitter.
  std::uint32_t reconnect_max_ms = 30000;
  std::uint32_t handshake_ms = 5000;
};

/// Before bind or connect. Errors: bad_config naming the option that libzmq refused or ignored.
[[nodiscard]] Result<void> apply_router_profile(zmq::socket_t& socket,
                                                const RouterProfile& profile);
[[nodiscard]] Result<void> apply_dealer_profile(zmq::socket_t& socket,
                                                const DealerProfile& profile);

/// True for ipc:// and for tcp:// on 127.0.0.0/8, ::1 or localhost: where a plain socket may be.
[[nodiscard]] bool is_local_endpoint(std::string_view endpoint);

}  // namespace cupel::net
