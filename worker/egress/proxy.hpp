/// The egress proxy: a server on a thread of its own that lets runs connect to the targets of their
/// allowance and to nothing else. The decisions are the ledger's (worker/core/egress/ledger.hpp).
///
/// Thread rule: all methods may be called from any one thread; the coroutines resume on the
/// caller's executor.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/egress/ledger.hpp"
#include "worker/core/egress/upstream_guard.hpp"
#include "worker/core/egress/upstream_proxy.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cupel::worker::egress {

struct ProxyOptions {
  std::optional<UpstreamProxy> upstream;  ///< Of the worker's environment.
  std::string ca_file;                    ///< PEM, for what is fetched by TLS; empty: the system's.
  std::size_t connections_max = 512;
  Duration head_limit = std::chrono::seconds(10);  ///< From the connection to its whole head.
  Duration idle_limit = std::chrono::seconds(90);  ///< Of a connection on which nothing moves.
  GuardLimits guard = {};
  Duration wait_max =
      std::chrono::seconds(20);  ///< For the guard; what it would hold longer fails.
  /// For metrics; called on the proxy's thread.
  std::function<void(Refused why)> on_refused = {};
  std::function<void(std::uint64_t bytes)> on_bytes = {};
};

class Proxy {
 public:
  explicit Proxy(ProxyOptions options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Listens at this numeric address, and no longer at an earlier one. Returns the port.
  /// Errors: io_error (the address is not this host's).
  [[nodiscard]] boost::asio::awaitable<Result<std::uint16_t>> listen(std::string address);
  /// A connection that was made elsewhere: `descriptor` is a stream socket and the proxy's from now
  /// on, `peer` who is at its other end, for Allowance::peer.
  void adopt(int descriptor, std::string peer);
  [[nodiscard]] boost::asio::awaitable<void> open(std::string run, std::string secret,
                                                  Allowance allowance);
  /// Cuts what the run still has open.
  [[nodiscard]] boost::asio::awaitable<Traffic> close(std::string run);
  /// How long every target that is known is left alone; nothing while one may be asked.
  [[nodiscard]] boost::asio::awaitable<std::optional<Duration>> paused();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace cupel::worker::egress
