/// The bulk plane's socket: artifacts of live leases, in and out of the artifact store.
#pragma once

#include "common/net/router.hpp"
#include "common/wire/bulk.hpp"
#include "coordinator/fs/artifact_store.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cupel::coordinator::zmq {

/// Asks the control loop, which knows sessions and leases; blocks the bulk loop until it has
/// answered.
struct LeaseChecks {
  std::function<Result<void>(std::uint64_t session, const std::string& key, const LiveLease& lease)>
      may_put;
  std::function<Result<void>(std::uint64_t session, const std::string& key, const LiveLease& lease,
                             const Digest& artifact)>
      may_get;
};

/// Lives on the bulk loop.
class BulkLink {
 public:
  /// `artifacts` outlives the link. Errors: those of net::Router::bind.
  [[nodiscard]] static Result<std::unique_ptr<BulkLink>> bind(
      boost::asio::io_context& loop, ::zmq::context_t& context, net::RouterOptions options,
      const net::ZapHandler* zap, fs::ArtifactStore& artifacts, LeaseChecks checks);
  ~BulkLink();

  void drop_session(std::uint64_t session);
  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] const wire::BulkCounters& counters() const { return server_->counters(); }
  [[nodiscard]] const net::RouterCounters& link_counters() const { return router_->counters(); }

 private:
  class Port;
  explicit BulkLink(boost::asio::io_context& loop);
  void received(net::Peer peer, const std::string& bytes);
  void tick();

  boost::asio::steady_timer timer_;
  std::unique_ptr<Port> port_;
  std::unique_ptr<wire::BulkServer> server_;
  std::unique_ptr<net::Router> router_;
};

}  // namespace cupel::coordinator::zmq
