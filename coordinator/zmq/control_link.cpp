#include "coordinator/zmq/control_link.hpp"

#include "common/crash/message_points.hpp"
#include "common/wire/codec.hpp"

#include <optional>
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

std::size_t ControlLink::send(const std::vector<const Send*>& messages) {
  std::vector<std::string> encoded;
  encoded.reserve(messages.size());
  for (const Send* message : messages) encoded.push_back(wire::encode(message->message));
  std::size_t too_large = 0;
  std::optional<net::PublicKey> key;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Send& message = *messages[i];
    // An acknowledgement and the next lease go to the same worker.
    if (i == 0 || message.key != messages[i - 1]->key) key = net::PublicKey::from_z85(message.key);
    if (!key) continue;
    crash::before_send(message.message);
    if (router_->send({message.routing, *key}, encoded[i]) == net::SendStatus::too_large)
      ++too_large;
    crash::after_send(message.message);
  }
  return too_large;
}

}  // namespace cupel::coordinator::zmq
