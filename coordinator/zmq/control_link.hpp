/// The control plane's socket: bytes from workers become events of the machine, its messages become
/// bytes.
#pragma once

#include "common/net/router.hpp"
#include "coordinator/core/actions.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cupel::coordinator::zmq {

/// Lives on the control loop.
class ControlLink {
 public:
  using OnEvent = std::function<void(Event event)>;

  /// Errors: those of net::Router::bind.
  [[nodiscard]] static Result<std::unique_ptr<ControlLink>> bind(boost::asio::io_context& loop,
                                                                 ::zmq::context_t& context,
                                                                 net::RouterOptions options,
                                                                 const net::ZapHandler* zap,
                                                                 OnEvent on_event);

  /// Encodes all, then sends them one behind the other: so they leave in few packets, and the I/O
  /// thread wakes once. Lost when the peer is gone or reads too slowly: leases and acknowledgements
  /// are built for that. How many were too large to be sent.
  std::size_t send(const std::vector<const Send*>& messages);
  [[nodiscard]] std::string endpoint() const { return router_->last_endpoint(); }
  [[nodiscard]] const net::RouterCounters& counters() const { return router_->counters(); }

 private:
  ControlLink() = default;
  std::unique_ptr<net::Router> router_;
};

}  // namespace cupel::coordinator::zmq
