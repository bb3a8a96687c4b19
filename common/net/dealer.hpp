/// The worker's side of a plane: a DEALER on an io_context that keeps itself connected.
///
/// It names no routing id, so that the ROUTER gives each connection one of its own. With a chosen
/// one, a worker that comes back before the coordinator has noticed the loss of the old connection
/// would be ignored, in silence, until it does.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/net/curve_keys.hpp"
#include "common/net/router.hpp"
#include "common/net/socket_profile.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::net {

enum class LinkState : std::uint8_t {
  connecting,
  connected,         ///< Handshake done. Say hello: the other side may have restarted.
  disconnected,      ///< libzmq reconnects by itself.
  auth_failed,       ///< The coordinator doesn't trust this key (yet); tried again with back-off.
  handshake_failed,  ///< Something answers, but not with this coordinator's key; tried again.
};
[[nodiscard]] std::string_view name(LinkState state);

struct DealerOptions {
  Plane plane = Plane::control;
  std::string endpoint = {};        ///< "tcp://host:7401"
  std::optional<KeyPair> key = {};  ///< Nothing needs allow_plain.
  PublicKey server = {};
  bool allow_plain = false;                        ///< Only with ipc:// or a loopback address.
  Duration retry_first = std::chrono::seconds(1);  ///< After a refused handshake.
  Duration retry_max = std::chrono::seconds(60);
  std::uint32_t reconnect_ms = 100;  ///< After a lost connection; doubled up to the maximum.
  /// Nobody waits longer than this for a worker once its coordinator is back, however long that
  /// was away. Half of the 15 s in which a fleet moves to a standby; 1,000 workers at a closed port
  /// are 125 connections a second.
  std::uint32_t reconnect_max_ms = 7500;
  /// For jitter; default fs::random_u64.
  std::function<std::uint64_t()> random = {};
};

/// Grows only; readable from any thread.
struct DealerCounters {
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> send_failed{0};  ///< Not connected, or full.
  std::atomic<std::uint64_t> dropped_malformed{0};
  std::atomic<std::uint64_t> connected{0};
  std::atomic<std::uint64_t> disconnected{0};
  std::atomic<std::uint64_t> auth_failed{0};
  std::atomic<std::uint64_t> handshake_failed{0};
  std::atomic<std::uint64_t> recreated{0};  ///< Sockets made anew after a failed handshake.
};

/// Single-threaded: made, used and destroyed on the io_context's thread; only `counters` is for
/// all.
class Dealer {
 public:
  using OnMessage = std::function<void(std::string bytes)>;
  using OnState = std::function<void(LinkState state)>;

  /// Returns at once; the connection comes later, as a state. Callbacks are never called from
  /// inside `connect` or `send`. Errors: bad_config (plain not allowed here, option refused,
  /// endpoint malformed).
  [[nodiscard]] static Result<std::unique_ptr<Dealer>> connect(boost::asio::io_context& io,
                                                               zmq::context_t& context,
                                                               DealerOptions options,
                                                               OnMessage on_message,
                                                               OnState on_state);
  Dealer(const Dealer&) = delete;
  Dealer& operator=(const Dealer&) = delete;
  ~Dealer();

  /// Never blocks and keeps nothing for later: what was not `sent` is the caller's to repeat.
  [[nodiscard]] SendStatus send(std::string_view bytes);
  /// Drops the connection and makes another at once, without telling on_state about the loss. For
  /// an owner that has heard nothing for too long: TCP itself may notice a cut minutes late.
  void reconnect();
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] const DealerCounters& counters() const;
  /// Closes the socket (what is queued gets up to 2 s in the background); no callback afterwards.
  void stop();

 private:
  struct State;
  explicit Dealer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace cupel::net
