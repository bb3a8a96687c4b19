/// The coordinator's side of a plane: a ROUTER on an io_context.
#pragma once

#include "common/core/error.hpp"
#include "common/net/curve_keys.hpp"
#include "common/net/socket_profile.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}
namespace zmq {
class context_t;
}

namespace cupel::net {

class ZapHandler;

/// Where a message came from and where an answer goes. `key` is what CURVE proved, never what the
/// peer says; `routing_id` is chosen by the peer and only an address. On a plain socket `key` is
/// empty.
struct Peer {
  std::string routing_id;
  PublicKey key;
  friend bool operator==(const Peer&, const Peer&) = default;
};

enum class SendStatus : std::uint8_t {
  sent,         ///< Queued in libzmq; says nothing about arrival.
  unreachable,  ///< No such peer now (or the dealer is not connected).
  full,         ///< The peer's queue is at its limit: it reads too slowly.
  not_trusted,  ///< The peer's key has been revoked.
  too_large,    ///< Over the plane's message limit.
};

struct RouterOptions {
  Plane plane = Plane::control;
  std::string endpoint = {};        ///< "tcp://0.0.0.0:7401"; port 0 or * takes a free one.
  std::optional<KeyPair> key = {};  ///< Nothing needs allow_plain.
  bool allow_plain = false;         ///< Only with ipc:// or a loopback address.
};

/// Grows only; readable from any thread.
struct RouterCounters {
  std::atomic<std::uint64_t> received{0};  ///< Messages handed to on_message.
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> dropped_untrusted{0};  ///< From keys that are no longer on the list.
  std::atomic<std::uint64_t> dropped_malformed{0};  ///< Not exactly one frame after the address.
  std::atomic<std::uint64_t> send_unreachable{0};
  std::atomic<std::uint64_t> send_full{0};
  std::atomic<std::uint64_t> connected{0};  ///< Handshakes that succeeded.
  std::atomic<std::uint64_t> disconnected{0};
  std::atomic<std::uint64_t> handshake_denied{0};  ///< By the trust list.
  std::atomic<std::uint64_t> handshake_failed{0};  ///< Wrong mechanism, wrong server key, noise.
};

/// Single-threaded: made, used and destroyed on the io_context's thread; only `counters` is for
/// all.
class Router {
 public:
  using OnMessage = std::function<void(Peer peer, std::string bytes)>;

  /// `zap` outlives the router; nullptr only for a plain socket. Errors: bad_config (plain without
  /// the switch or not local, option refused, endpoint malformed), already_exists (address in use),
  /// io_error.
  [[nodiscard]] static Result<std::unique_ptr<Router>> bind(boost::asio::io_context& io,
                                                            zmq::context_t& context,
                                                            RouterOptions options,
                                                            const ZapHandler* zap,
                                                            OnMessage on_message);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  /// Closes the socket at once; on_message is not called afterwards.
  ~Router();

  /// Never blocks. `peer` as it came with a message.
  [[nodiscard]] SendStatus send(const Peer& peer, std::string_view bytes);
  /// With the real port.
  [[nodiscard]] std::string last_endpoint() const;
  [[nodiscard]] const RouterCounters& counters() const;

 private:
  struct State;
  explicit Router(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace cupel::net
