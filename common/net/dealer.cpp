#include "common/net/dealer.hpp"

#include "common/core/backoff.hpp"
#include "common/fs/files.hpp"
#include "common/net/monitor.hpp"
#include "common/net/socket_pump.hpp"

#include <boost/asio/steady_timer.hpp>
#include <zmq.hpp>

#include <cerrno>

namespace cupel::net {
namespace {

Error config_error(std::string what, std::string hint, std::string detail = {}) {
  return {.code = Errc::bad_config,
          .what = std::move(what),
          .detail = std::move(detail),
          .hint = std::move(hint)};
}

// One life of the socket. Closed in this order: pumps, monitor, socket.
struct Link {
  explicit Link(zmq::context_t& context) : socket(context, zmq::socket_type::dealer) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { close(); }

  void close() {
    if (pump) pump->stop();
    if (monitor_pump) monitor_pump->stop();
    monitor.reset();
    socket.close();
  }
  [[nodiscard]] bool closed() const { return pump->stopped(); }

  zmq::socket_t socket;
  std::unique_ptr<Monitor> monitor;
  std::shared_ptr<SocketPump> pump;
  std::shared_ptr<SocketPump> monitor_pump;
};

}  // namespace

std::string_view name(LinkState state) {
  switch (state) {
    case LinkState::connecting: return "connecting";
    case LinkState::connected: return "connected";
    case LinkState::disconnected: return "disconnected";
    case LinkState::auth_failed: return "auth_failed";
    case LinkState::handshake_failed: return "handshake_failed";
  }
  return "unknown";
}

struct Dealer::State : std::enable_shared_from_this<Dealer::State> {
  State(boost::asio::io_context& io_context, zmq::context_t& zmq_context,
        DealerOptions dealer_options, OnMessage message_callback, OnState state_callback)
      : io(io_context),
        context(zmq_context),
        options(std::move(dealer_options)),
        bytes_max(message_bytes_max(options.plane)),
        on_message(std::move(message_callback)),
        on_state(std::move(state_callback)),
        retry_timer(io_context) {
    if (!options.random) options.random = fs::random_u64;
  }

  Result<void> open() {
    try {
      auto made = std::make_shared<Link>(context);
      DealerProfile profile{.plane = options.plane,
                            .ipv6 = is_ipv6_endpoint(options.endpoint),
                            .key = options.key,
                            .server = options.server,
                            .routing_id = {},
                            .reconnect_ms = options.reconnect_ms,
                            .reconnect_max_ms = options.reconnect_max_ms};
      // A fleet that was cut off together doesn't come back together.
      profile.reconnect_ms +=
          static_cast<std::uint32_t>(options.random() % (options.reconnect_ms + 1));
      if (auto applied = apply_dealer_profile(made->socket, profile); !applied) return applied;
      made->monitor = std::make_unique<Monitor>(context, made->socket);
      const std::weak_ptr<State> weak = weak_from_this();
      const std::weak_ptr<Link> weak_link = made;
      // Both are held while the drain runs: a callback may stop or destroy the dealer.
      const auto drained_by = [weak, weak_link](bool (State::*drain)(Link&)) {
        return [weak, weak_link, drain] {
          const auto state = weak.lock();
          const auto held = weak_link.lock();
          return state && held && (*state.*drain)(*held);
        };
      };
      made->pump = std::make_shared<SocketPump>(io, made->socket, drained_by(&State::drain));
      made->monitor_pump = std::make_shared<SocketPump>(io, made->monitor->socket(),
                                                        drained_by(&State::drain_monitor));
      made->socket.connect(options.endpoint);
      made->pump->start();
      made->monitor_pump->start();
      link = std::move(made);
      return {};
    } catch (const zmq::error_t& error) {
      return config_error("connect to " + options.endpoint, "an address is tcp://HOST:PORT",
                          error.what());
    }
  }

  bool drain(Link& from) {
    std::size_t turn_bytes = 0;
    for (std::size_t i = 0; i < kMessagesPerTurn && turn_bytes < kBytesPerTurn; ++i) {
      zmq::message_t frame;
      if (from.closed() || !receive_now(from.socket, frame)) return false;
      turn_bytes += frame.size();
      bool more = frame.more();
      if (more) {
        ++counters.dropped_malformed;
        zmq::message_t rest;
        while (more && receive_now(from.socket, rest)) more = rest.more();
        continue;
      }
      ++counters.received;
      counters.received_bytes += frame.size();
      on_message(frame.to_string());
    }
    return true;
  }

  bool drain_monitor(Link& from) {
    while (!from.closed()) {
      const auto event = from.monitor->next();
      if (!event) break;
      take(*event);
    }
    return false;
  }

  void take(MonitorEvent event) {
    switch (event) {
      case MonitorEvent::connected:
        ++counters.connected;
        failures = 0;
        return enter(LinkState::connected);
      case MonitorEvent::disconnected:
        if (link_state == LinkState::connected) {
          ++counters.disconnected;
          return enter(LinkState::disconnected);
        }
        // Something that speaks no ZMTP ends a connection without a word about the handshake.
        [[fallthrough]];
      case MonitorEvent::failed:
        ++counters.handshake_failed;
        return retry(LinkState::handshake_failed);
      case MonitorEvent::denied: ++counters.auth_failed; return retry(LinkState::auth_failed);
    }
  }

  // libzmq never tries again after a refusal, and at once or never after other failed handshakes.
  void retry(LinkState why) {
    link->close();
    const Duration delay =
        backoff_delay(failures++, options.retry_first, options.retry_max, options.random());
    retry_timer.expires_after(delay);
    retry_timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto state = weak.lock();
      if (error || !state || state->stopped) return;
      state->reopen();
    });
    enter(why);
  }

  void reopen() {
    link->close();
    ++counters.recreated;
    // The same options were taken before: only a lack of descriptors can stop it, and that may
    // pass.
    if (open()) return;
    ++counters.handshake_failed;
    retry(LinkState::handshake_failed);
  }

  void enter(LinkState state) {
    link_state = state;
    if (on_state) on_state(state);
  }

  void stop() {
    if (std::exchange(stopped, true)) return;
    retry_timer.cancel();
    if (link) link->close();
    link_state = LinkState::disconnected;
  }

  boost::asio::io_context& io;
  zmq::context_t& context;
  DealerOptions options;
  std::size_t bytes_max;
  OnMessage on_message;
  OnState on_state;
  DealerCounters counters;
  std::shared_ptr<Link> link;
  boost::asio::steady_timer retry_timer;
  std::uint32_t failures = 0;
  LinkState link_state = LinkState::connecting;
  bool stopped = false;
};

Result<std::unique_ptr<Dealer>> Dealer::connect(boost::asio::io_context& io,
                                                zmq::context_t& context, DealerOptions options,
                                                OnMessage on_message, OnState on_state) {
  if (!options.key && !(options.allow_plain && is_local_endpoint(options.endpoint))) {
    return config_error("a connection without encryption to " + options.endpoint + " is refused",
                        "plain sockets are for ipc:// and loopback addresses only, by a switch");
  }
  if (options.key && options.server.empty()) {
    return config_error("the coordinator's public key is missing for " + options.endpoint,
                        "'cupel key show' on the coordinator prints it");
  }
  if (auto checked = check_endpoint(options.endpoint, EndpointUse::connect); !checked) {
    return std::move(checked).error();
  }
  auto state = std::make_shared<State>(io, context, std::move(options), std::move(on_message),
                                       std::move(on_state));
  if (auto opened = state->open(); !opened) return std::move(opened).error();
  return std::unique_ptr<Dealer>(new Dealer(std::move(state)));
}

Dealer::Dealer(std::shared_ptr<State> state) : state_(std::move(state)) {}

Dealer::~Dealer() {
  stop();
}

void Dealer::stop() {
  state_->stop();
}

void Dealer::reconnect() {
  State& state = *state_;
  if (state.stopped) return;
  state.retry_timer.cancel();
  state.link_state = LinkState::disconnected;
  state.reopen();
}

LinkState Dealer::state() const {
  return state_->link_state;
}

const DealerCounters& Dealer::counters() const {
  return state_->counters;
}

SendStatus Dealer::send(std::string_view bytes) {
  State& state = *state_;
  if (bytes.size() > state.bytes_max) return SendStatus::too_large;
  SendStatus status = SendStatus::unreachable;
  if (state.link_state == LinkState::connected) {
    status = SendStatus::full;
    try {
      if (state.link->socket.send(zmq::buffer(bytes), zmq::send_flags::dontwait)) {
        status = SendStatus::sent;
      }
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
    state.link->pump->after_send();
  }
  if (status == SendStatus::sent) {
    ++state.counters.sent;
    state.counters.sent_bytes += bytes.size();
  } else {
    ++state.counters.send_failed;
  }
  return status;
}

}  // namespace cupel::net
