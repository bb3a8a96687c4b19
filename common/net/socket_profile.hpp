/// Every option of the fleet's ZeroMQ sockets, set in one place and read back: libzmq accepts some
/// options in silence without honouring them.
#pragma once

#include "common/core/error.hpp"
#include "common/net/curve_keys.hpp"

#include <cstddef>
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
  bool ipv6 = false;  ///< The endpoint is an IPv6 address (is_ipv6_endpoint).
  std::optional<KeyPair> key =
      {};  ///< Nothing: plain (Router::bind decides where that is allowed).
  std::uint32_t handshake_ms = 5000;
};

struct DealerProfile {
  Plane plane = Plane::control;
  bool ipv6 = false;
  std::optional<KeyPair> key = {};   ///< Nothing: plain.
  PublicKey server = {};             ///< The coordinator's key; needed with `key`.
  std::string routing_id = {};       ///< Empty: the ROUTER chooses (dealer.hpp says why).
  std::uint32_t reconnect_ms = 100;  ///< First interval; the caller adds its jitter.
  std::uint32_t reconnect_max_ms = 30000;
  std::uint32_t handshake_ms = 5000;
};

/// Before bind or connect. Errors: bad_config naming the option that libzmq refused or ignored.
[[nodiscard]] Result<void> apply_router_profile(zmq::socket_t& socket,
                                                const RouterProfile& profile);
[[nodiscard]] Result<void> apply_dealer_profile(zmq::socket_t& socket,
                                                const DealerProfile& profile);

/// The largest message of a plane.
[[nodiscard]] std::size_t message_bytes_max(Plane plane);

/// tcp://HOST:PORT with a port of 1 to 65535 (listening: also 0 or *), or ipc://PATH of at most 107
/// bytes. libzmq itself takes port 99999 for 34463. Errors: bad_config.
enum class EndpointUse : std::uint8_t { listen, connect };
[[nodiscard]] Result<void> check_endpoint(std::string_view endpoint, EndpointUse use);

/// "tcp://[::1]:7401": IPv6 only where it is written. A name then means IPv4, on both sides.
[[nodiscard]] bool is_ipv6_endpoint(std::string_view endpoint);

/// True for ipc:// and for tcp:// on 127.0.0.0/8, ::1 or localhost: where a plain socket may be.
[[nodiscard]] bool is_local_endpoint(std::string_view endpoint);

}  // namespace cupel::net
