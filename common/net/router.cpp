#include "common/net/router.hpp"

#include "common/net/monitor.hpp"
#include "common/net/socket_pump.hpp"
#include "common/net/zap.hpp"

#include <zmq.hpp>

#include <cerrno>

namespace cupel::net {
namespace {

Error router_config_error(std::string what, std::string hint) {
  return {.code = Errc::bad_config, .what = std::move(what), .detail = {}, .hint = std::move(hint)};
}

Error bind_error(const std::string& endpoint, const zmq::error_t& error) {
  const int number = error.num();
  const Errc code =
      number == EADDRINUSE ? Errc::already_exists
      : number == EINVAL || number == EPROTONOSUPPORT || number == ENODEV || number == EADDRNOTAVAIL
          ? Errc::bad_config
          : Errc::io_error;
  if (number == EADDRINUSE) {
    return {.code = code,
            .what = "can't listen on " + endpoint + ": another process uses this address",
            .detail = {},
            .hint = "stop it ('ss -ltnp' names it), or choose another port"};
  }
  return {
      .code = code,
      .what = "can't listen on " + endpoint,
      .detail = error.what(),
      .hint = number == EADDRNOTAVAIL ? "name an address of this host, or 0.0.0.0 for all" : ""};
}

}  // namespace

struct Router::State {
  State(boost::asio::io_context& io_context, zmq::context_t& context, const ZapHandler* handler,
        bool is_curve, std::size_t max, OnMessage callback)
      : io(io_context),
        zap(handler),
        curve(is_curve),
        bytes_max(max),
        on_message(std::move(callback)),
        socket(context, zmq::socket_type::router) {}

  [[nodiscard]] bool trusted(const PublicKey& key) const {
    return !curve || zap->list()->find(key) != nullptr;
  }

  // One message: the address, then exactly one frame. `frame` ends as the last frame read.
  void take(zmq::message_t address) {
    zmq::message_t frame;
    std::size_t frames = 0;
    bool more = address.more();
    while (more && receive_now(socket, frame)) {
      ++frames;
      more = frame.more();
    }
    turn_bytes += frame.size();
    if (frames != 1) {
      ++counters.dropped_malformed;
      return;
    }
    Peer peer{.routing_id = address.to_string(), .key = {}};
    if (curve) {
      const char* const user = zmq_msg_gets(frame.handle(), "User-Id");
      const auto key = PublicKey::from_z85(user == nullptr ? "" : user);
      if (!key || !trusted(*key)) {
        ++counters.dropped_untrusted;
        return;
      }
      peer.key = *key;
    }
    ++counters.received;
    counters.received_bytes += frame.size();
    on_message(std::move(peer), frame.to_string());
  }

  bool drain() {
    turn_bytes = 0;
    for (std::size_t i = 0; i < kMessagesPerTurn && turn_bytes < kBytesPerTurn; ++i) {
      zmq::message_t address;
      if (pump->stopped() || !receive_now(socket, address)) return false;
      take(std::move(address));
    }
    return true;
  }

  bool drain_monitor() {
    while (const auto event = monitor->next()) {
      switch (*event) {
        case MonitorEvent::connected: ++counters.connected; break;
        case MonitorEvent::disconnected: ++counters.disconnected; break;
        case MonitorEvent::denied: ++counters.handshake_denied; break;
        case MonitorEvent::failed: ++counters.handshake_failed; break;
      }
    }
    return false;
  }

  void stop() {
    pump->stop();
    monitor_pump->stop();
    monitor.reset();
    socket.close();
  }

  boost::asio::io_context& io;
  const ZapHandler* zap;
  bool curve;
  std::size_t bytes_max;
  OnMessage on_message;
  RouterCounters counters;
  zmq::socket_t socket;
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<SocketPump> pump;
  std::shared_ptr<SocketPump> monitor_pump;
  std::size_t turn_bytes = 0;
};

Result<std::unique_ptr<Router>> Router::bind(boost::asio::io_context& io, zmq::context_t& context,
                                             RouterOptions options, const ZapHandler* zap,
                                             OnMessage on_message) {
  if (auto checked = check_endpoint(options.endpoint, EndpointUse::listen); !checked) {
    return std::move(checked).error();
  }
  if (!options.key && !options.allow_plain) {
    return router_config_error("no key for the socket at " + options.endpoint,
                               "make one with 'cupel key generate'");
  }
  if (!options.key && !is_local_endpoint(options.endpoint)) {
    return router_config_error("a socket without encryption at " + options.endpoint + " is refused",
                               "plain sockets are for ipc:// and loopback addresses only");
  }
  if (options.key && zap == nullptr) {
    return router_config_error("no trust list for the socket at " + options.endpoint, "");
  }
  try {
    auto state = std::make_shared<State>(io, context, zap, options.key.has_value(),
                                         message_bytes_max(options.plane), std::move(on_message));
    const RouterProfile profile{.plane = options.plane,
                                .ipv6 = is_ipv6_endpoint(options.endpoint),
                                .key = std::move(options.key)};
    if (auto applied = apply_router_profile(state->socket, profile); !applied) {
      return std::move(applied).error();
    }
    state->monitor = std::make_unique<Monitor>(context, state->socket);
    state->socket.bind(options.endpoint);
    // The pumps live as long as an event of theirs is under way; the state must then be alive, too.
    const std::weak_ptr<State> weak = state;
    state->pump = std::make_shared<SocketPump>(io, state->socket, [weak] {
      const auto alive = weak.lock();
      return alive && alive->drain();
    });
    state->monitor_pump = std::make_shared<SocketPump>(io, state->monitor->socket(), [weak] {
      const auto alive = weak.lock();
      return alive && alive->drain_monitor();
    });
    state->pump->start();
    state->monitor_pump->start();
    return std::unique_ptr<Router>(new Router(std::move(state)));
  } catch (const zmq::error_t& error) {
    return bind_error(options.endpoint, error);
  }
}

Router::Router(std::shared_ptr<State> state) : state_(std::move(state)) {}

Router::~Router() {
  state_->stop();
}

SendStatus Router::send(const Peer& peer, std::string_view bytes) {
  State& state = *state_;
  if (bytes.size() > state.bytes_max) return SendStatus::too_large;
  if (!state.trusted(peer.key)) return SendStatus::not_trusted;
  SendStatus status = SendStatus::full;
  try {
    const auto address = state.socket.send(zmq::buffer(peer.routing_id),
                                           zmq::send_flags::dontwait | zmq::send_flags::sndmore);
    // The address was taken, so there is room for the one frame behind it.
    if (address && state.socket.send(zmq::buffer(bytes), zmq::send_flags::dontwait)) {
      status = SendStatus::sent;
    }
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH && error.num() != EINTR) throw;
    if (error.num() == EHOSTUNREACH) status = SendStatus::unreachable;
  }
  state.pump->after_send();
  if (status == SendStatus::sent) {
    ++state.counters.sent;
    state.counters.sent_bytes += bytes.size();
  } else {
    ++(status == SendStatus::full ? state.counters.send_full : state.counters.send_unreachable);
  }
  return status;
}

std::string Router::last_endpoint() const {
  return state_->socket.get(zmq::sockopt::last_endpoint);
}

const RouterCounters& Router::counters() const {
  return state_->counters;
}

}  // namespace cupel::net
