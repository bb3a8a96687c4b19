#include "common/net/zap.hpp"

#include "common/net/monitor.hpp"
#include "common/net/socket_profile.hpp"

#include <zmq.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace cupel::net {
namespace {

constexpr const char* kEndpoint = "inproc://zeromq.zap.01";
constexpr auto kSelfTestBudget = std::chrono::seconds(5);

Error failure(Errc code, std::string what, std::string detail) {
  return {.code = code, .what = std::move(what), .detail = std::move(detail), .hint = {}};
}

}  // namespace

ZapHandler::ZapHandler(zmq::context_t& context, std::shared_ptr<const TrustList> list)
    : context_(context),
      requests_(std::make_unique<zmq::socket_t>(context, zmq::socket_type::rep)),
      stop_sender_(std::make_unique<zmq::socket_t>(context, zmq::socket_type::pair)),
      stop_receiver_(std::make_unique<zmq::socket_t>(context, zmq::socket_type::pair)),
      list_(std::move(list)) {}

Result<std::unique_ptr<ZapHandler>> ZapHandler::start(zmq::context_t& context,
                                                      std::shared_ptr<const TrustList> list) {
  try {
    std::unique_ptr<ZapHandler> handler(new ZapHandler(context, std::move(list)));
    handler->requests_->set(zmq::sockopt::linger, 0);
    handler->requests_->bind(kEndpoint);
    const std::string stop_endpoint =
        "inproc://cupel-zap-stop-" +
        std::to_string(reinterpret_cast<std::uintptr_t>(handler.get()));
    handler->stop_sender_->set(zmq::sockopt::linger, 0);
    handler->stop_receiver_->set(zmq::sockopt::linger, 0);
    handler->stop_receiver_->bind(stop_endpoint);
    handler->stop_sender_->connect(stop_endpoint);
    handler->thread_ = std::thread([raw = handler.get()] { raw->serve(); });
    return handler;
  } catch (const zmq::error_t& error) {
    return failure(error.num() == EADDRINUSE ? Errc::already_exists : Errc::io_error,
                   "start the ZAP handler", error.what());
  }
}

ZapHandler::~ZapHandler() {
  if (!thread_.joinable()) return;
  // A PAIR whose peer lives takes one small message at once.
  stop_sender_->send(zmq::str_buffer("stop"), zmq::send_flags::dontwait);
  thread_.join();
}

void ZapHandler::replace(std::shared_ptr<const TrustList> list) {
  const std::lock_guard lock(list_mutex_);
  list_ = std::move(list);
}

std::shared_ptr<const TrustList> ZapHandler::list() const {
  const std::lock_guard lock(list_mutex_);
  return list_;
}

void ZapHandler::serve() {
  std::vector<zmq::pollitem_t> items = {{requests_->handle(), 0, ZMQ_POLLIN, 0},
                                        {stop_receiver_->handle(), 0, ZMQ_POLLIN, 0}};
  try {
    for (;;) {
      zmq::poll(items, std::chrono::milliseconds(-1));
      if ((items[1].revents & ZMQ_POLLIN) != 0) return;
      if ((items[0].revents & ZMQ_POLLIN) != 0) answer(*requests_);
    }
  } catch (const zmq::error_t&) {
    // The context was shut down: no handshake can follow.
  }
}

// Request: version, request id, domain, address, identity, mechanism, credentials.
void ZapHandler::answer(zmq::socket_t& socket) {
  std::vector<std::string> frames;
  bool more = true;
  while (more) {
    zmq::message_t frame;
    static_cast<void>(socket.recv(frame));
    more = frame.more();
    frames.push_back(frame.to_string());
  }
  std::string user;
  if (frames.size() == 7 && frames[0] == "1.0" && frames[2] == kZapDomain && frames[5] == "CURVE") {
    const auto key = PublicKey::from_raw(frames[6]);
    if (key && list()->find(*key) != nullptr) user = key->z85();
  }
  const bool admitted = !user.empty();
  ++(admitted ? accepted_ : denied_);
  const std::string request_id = frames.size() > 1 ? frames[1] : std::string();
  const std::vector<std::string> reply = {
      "1.0", request_id, admitted ? "200" : "400", admitted ? "OK" : "not trusted", user, ""};
  for (std::size_t i = 0; i < reply.size(); ++i) {
    socket.send(zmq::buffer(reply[i]),
                i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
}

Result<void> ZapHandler::self_test(const KeyPair& server) {
  try {
    zmq::socket_t router(context_, zmq::socket_type::router);
    const RouterProfile router_profile{.key = server};
    if (auto applied = apply_router_profile(router, router_profile); !applied) return applied;
    router.bind("tcp://127.0.0.1:*");

    zmq::socket_t stranger(context_, zmq::socket_type::dealer);
    const DealerProfile dealer_profile{
        .key = generate_key_pair(), .server = server.public_key, .routing_id = "self-test"};
    if (auto applied = apply_dealer_profile(stranger, dealer_profile); !applied) return applied;
    Monitor monitor(context_, stranger);
    stranger.set(zmq::sockopt::linger, 0);
    stranger.connect(router.get(zmq::sockopt::last_endpoint));

    const auto deadline = std::chrono::steady_clock::now() + kSelfTestBudget;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      zmq::pollitem_t item{monitor.socket().handle(), 0, ZMQ_POLLIN, 0};
      if (left.count() <= 0 || zmq::poll(&item, 1, left) == 0) {
        return failure(Errc::io_error, "the self-test of the trust list got no answer in 5 s", {});
      }
      while (const auto event = monitor.next()) {
        if (*event == MonitorEvent::denied) return {};
        if (*event == MonitorEvent::connected) {
          return failure(Errc::not_trusted,
                         "an unknown key was admitted: the trust list is not asked", {});
        }
      }
    }
  } catch (const zmq::error_t& error) {
    return failure(Errc::io_error, "self-test of the trust list", error.what());
  }
}

}  // namespace cupel::net
