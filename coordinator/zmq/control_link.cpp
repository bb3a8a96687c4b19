#include "coordinator/zmq/control_link.hpp"

#include "common/crash/message_points.hpp"
#include "common/wire/codec.hpp"

#include <utility>

namespace cupel::coordinator::zmq {

Result<std::unique_ptr<ControlLink>> ControlLink::bind(boost::asio::io_context& loop,
                                                       ::zmq::context_t& context,
                                                       net::RouterOptions options,
                                                       const net::ZapHandler* zap,
                                                       OnEvent on_event) {
  std::unique_ptr<ControlLink> link(new ControlLink);
  auto received = [on_event = std::move(on_event)](net::Peer peer, const std::string& bytes) {
    auto message = wire::decode_to_coordinator(bytes);
    if (message) {
      on_event(MessageReceived{peer.key.z85(), std::move(peer.routing_id), std::move(*message)});
    } else {
      on_event(MalformedReceived{peer.key.z85(), std::move(peer.routing_id)});
    }
  };
  auto router = net::Router::bind(loop, context, std::move(options), zap, std::move(received));
  if (!router) return router.error();
  link->router_ = std::move(*router);
  return link;
}

net::SendStatus ControlLink::send(const Send& message) {
  const auto key = net::PublicKey::from_z85(message.key);
  if (!key) return net::SendStatus::unreachable;
  crash::before_send(message.message);
  const auto status = router_->send({message.routing, *key}, wire::encode(message.message));
  crash::after_send(message.message);
  return status;
}

}  // namespace cupel::coordinator::zmq
