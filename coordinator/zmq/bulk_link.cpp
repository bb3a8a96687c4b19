#include "coordinator/zmq/bulk_link.hpp"

#include "common/crash/message_points.hpp"
#include "common/wire/codec.hpp"

#include <chrono>
#include <utility>

namespace cupel::coordinator::zmq {
namespace {

constexpr std::chrono::seconds kTick{5};

}  // namespace

class BulkLink::Port final : public wire::BulkPort {
 public:
  Port(fs::ArtifactStore& artifacts, LeaseChecks checks)
      : artifacts_(artifacts), checks_(std::move(checks)) {}

  Result<void> may_put(const wire::BulkPeer& peer, std::uint64_t session, const LiveLease& lease,
                       const Digest&, std::uint64_t) override {
    return checks_.may_put(session, peer.key, lease);
  }
  Result<void> may_get(const wire::BulkPeer& peer, std::uint64_t session, const LiveLease& lease,
                       const Digest& digest) override {
    return checks_.may_get(session, peer.key, lease, digest);
  }
  Result<Opened> open_put(const Digest& digest, std::uint64_t size) override {
    const auto opened = artifacts_.open_put(digest, size);
    if (!opened) return opened.error();
    return Opened{opened->offset, opened->complete};
  }
  Result<void> append(const Digest& digest, std::uint64_t offset, std::string_view bytes) override {
    return artifacts_.append(digest, offset, bytes);
  }
  Result<void> finish_put(const Digest& digest) override { return artifacts_.finish_put(digest); }
  Result<std::uint64_t> open_get(const Digest& digest) override {
    artifacts_.touch(digest);
    if (const auto size = artifacts_.size(digest)) return *size;
    return Error{.code = Errc::not_found,
                 .what = "artifact sha256:" + digest.hex() + " is not here",
                 .detail = {},
                 .hint = {}};
  }
  Result<std::string> read(const Digest& digest, std::uint64_t offset, std::size_t bytes) override {
    return artifacts_.read(digest, offset, bytes);
  }

 private:
  fs::ArtifactStore& artifacts_;
  LeaseChecks checks_;
};

BulkLink::BulkLink(boost::asio::io_context& loop) : timer_(loop) {}
BulkLink::~BulkLink() = default;

Result<std::unique_ptr<BulkLink>> BulkLink::bind(boost::asio::io_context& loop,
                                                 ::zmq::context_t& context,
                                                 net::RouterOptions options,
                                                 const net::ZapHandler* zap,
                                                 fs::ArtifactStore& artifacts, LeaseChecks checks) {
  std::unique_ptr<BulkLink> link(new BulkLink(loop));
  link->port_ = std::make_unique<Port>(artifacts, std::move(checks));
  link->server_ = std::make_unique<wire::BulkServer>(*link->port_);
  auto received = [raw = link.get()](net::Peer peer, const std::string& bytes) {
    raw->received(std::move(peer), bytes);
  };
  auto router = net::Router::bind(loop, context, std::move(options), zap, std::move(received));
  if (!router) return router.error();
  link->router_ = std::move(*router);
  link->tick();
  return link;
}

std::string BulkLink::endpoint() const {
  return router_->last_endpoint();
}

void BulkLink::drop_session(std::uint64_t session) {
  server_->drop_session(session);
}

void BulkLink::received(net::Peer peer, const std::string& bytes) {
  auto message = wire::decode_bulk_to_coordinator(bytes);
  const wire::BulkPeer who{peer.routing_id, peer.key.z85()};
  const auto now = std::chrono::steady_clock::now();
  if (!message) {  // no transfer that it could be answered for
    server_->on_malformed(who, now);
    return;
  }
  for (const BulkToWorker& answer : server_->on_message(who, std::move(*message), now)) {
    // What doesn't arrive stalls the transfer, and the worker begins it again.
    crash::before_send(answer);
    static_cast<void>(router_->send(peer, wire::encode(answer)));
    crash::after_send(answer);
  }
}

void BulkLink::tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    server_->tick(std::chrono::steady_clock::now());
    tick();
  });
}

}  // namespace cupel::coordinator::zmq
