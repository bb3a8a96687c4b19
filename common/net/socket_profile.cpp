#include "common/net/socket_profile.hpp"

#include "common/core/limits.hpp"

#include <zmq.hpp>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

namespace cupel::net {
namespace {

// Declared by libzmq's header only among its drafts, but honoured by every build since 4.3: without
// it a CURVE socket whose ZAP handler is missing admits everybody.
constexpr int kZapEnforceDomain = 93;

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr std::size_t kSocketPathMax = 107;  // sun_path without its NUL

constexpr int kListenBacklog = 1024;  // a whole fleet that comes back at once
constexpr int kIdleSeconds = 60;

Error option_error(const char* name, const std::string& why) {
  return {.code = Errc::bad_config,
          .what = std::string("libzmq did not take the socket option ") + name,
          .detail = why,
          .hint = "Cupel needs libzmq 4.3.4 or newer, built with CURVE"};
}

// Sets options and keeps them to be read back. The first failure sticks.
class Options {
 public:
  explicit Options(zmq::socket_t& socket) : socket_(socket.handle()) {}

  void number(int option, int value, const char* name, bool readable = true) {
    set(option, &value, sizeof value, name);
    if (!readable || error_) return;
    int found = 0;
    compare(option, &found, sizeof found, name, [&] { return found == value; });
  }
  void number64(int option, std::int64_t value, const char* name) {
    set(option, &value, sizeof value, name);
    if (error_) return;
    std::int64_t found = 0;
    compare(option, &found, sizeof found, name, [&] { return found == value; });
  }
  void text(int option, std::string_view value, const char* name) {
    set(option, value.data(), value.size(), name);
    if (error_) return;
    std::vector<char> found(value.size() + 2);
    std::size_t size = found.size();
    if (zmq_getsockopt(socket_, option, found.data(), &size) != 0) return fail(name);
    // Text options come back with their terminating NUL, binary ones without.
    const std::string_view read(found.data(), std::min(size, value.size()));
    if (read != value || size > value.size() + 1)
      error_ = option_error(name, "it reads back otherwise");
  }
  void key(int option, const std::array<std::uint8_t, kKeyBytes>& value, const char* name) {
    set(option, value.data(), value.size(), name);
    if (error_) return;
    std::array<std::uint8_t, kKeyBytes> found{};
    compare(option, found.data(), found.size(), name, [&] { return found == value; });
    explicit_bzero(found.data(), found.size());
  }
  [[nodiscard]] Result<void> result() {
    if (error_) return *std::move(error_);
    return {};
  }

 private:
  void set(int option, const void* value, std::size_t size, const char* name) {
    if (!error_ && zmq_setsockopt(socket_, option, value, size) != 0) fail(name);
  }
  template <typename Equal>
  void compare(int option, void* found, std::size_t size, const char* name, Equal equal) {
    if (zmq_getsockopt(socket_, option, found, &size) != 0) return fail(name);
    if (!equal()) error_ = option_error(name, "it reads back otherwise");
  }
  void fail(const char* name) { error_ = option_error(name, zmq_strerror(zmq_errno())); }

  void* socket_;
  std::optional<Error> error_;
};

// libzmq counts a frame as it travels: what CURVE adds to a message (33 bytes) counts, too.
constexpr std::size_t kFrameOverhead = 64;

void apply_common(Options& options, Plane plane, bool ipv6, std::uint32_t handshake_ms) {
  options.number64(ZMQ_MAXMSGSIZE,
                   static_cast<std::int64_t>(message_bytes_max(plane) + kFrameOverhead),
                   "ZMQ_MAXMSGSIZE");
  options.number(ZMQ_HANDSHAKE_IVL, static_cast<int>(handshake_ms), "ZMQ_HANDSHAKE_IVL");
  // Wide, and for dead TCP only: whether a worker lives is decided by its own heartbeats.
  options.number(ZMQ_HEARTBEAT_IVL, 15'000, "ZMQ_HEARTBEAT_IVL");
  options.number(ZMQ_HEARTBEAT_TIMEOUT, 60'000, "ZMQ_HEARTBEAT_TIMEOUT");
  options.number(ZMQ_TCP_KEEPALIVE, 1, "ZMQ_TCP_KEEPALIVE");
  options.number(ZMQ_TCP_KEEPALIVE_IDLE, kIdleSeconds, "ZMQ_TCP_KEEPALIVE_IDLE");
  options.number(ZMQ_IPV6, ipv6 ? 1 : 0, "ZMQ_IPV6");
}

}  // namespace

Result<void> apply_router_profile(zmq::socket_t& socket, const RouterProfile& profile) {
  Options options(socket);
  apply_common(options, profile.plane, profile.ipv6, profile.handshake_ms);
  // Per peer: a worker's heartbeats and leases, or the chunks of its few transfers.
  const int queue = profile.plane == Plane::control ? 1000 : 128;
  options.number(ZMQ_SNDHWM, queue, "ZMQ_SNDHWM");
  options.number(ZMQ_RCVHWM, queue, "ZMQ_RCVHWM");
  options.number(ZMQ_LINGER, 1000, "ZMQ_LINGER");
  options.number(ZMQ_BACKLOG, kListenBacklog, "ZMQ_BACKLOG");
  options.number(ZMQ_ROUTER_MANDATORY, 1, "ZMQ_ROUTER_MANDATORY", false);
  options.number(ZMQ_ROUTER_HANDOVER, 0, "ZMQ_ROUTER_HANDOVER", false);
  if (profile.key) {
    options.number(ZMQ_CURVE_SERVER, 1, "ZMQ_CURVE_SERVER");
    options.key(ZMQ_CURVE_SECRETKEY, profile.key->secret_key.bytes(), "ZMQ_CURVE_SECRETKEY");
    options.text(ZMQ_ZAP_DOMAIN, kZapDomain, "ZMQ_ZAP_DOMAIN");
    options.number(kZapEnforceDomain, 1, "ZMQ_ZAP_ENFORCE_DOMAIN");
  }
  return options.result();
}

Result<void> apply_dealer_profile(zmq::socket_t& socket, const DealerProfile& profile) {
  Options options(socket);
  apply_common(options, profile.plane, profile.ipv6, profile.handshake_ms);
  options.number(ZMQ_SNDHWM, profile.plane == Plane::control ? 1000 : 64, "ZMQ_SNDHWM");
  options.number(ZMQ_RCVHWM, profile.plane == Plane::control ? 1000 : 64, "ZMQ_RCVHWM");
  options.number(ZMQ_LINGER, 2000, "ZMQ_LINGER");
  options.number(ZMQ_IMMEDIATE, 1, "ZMQ_IMMEDIATE");
  options.number(ZMQ_RECONNECT_IVL, static_cast<int>(profile.reconnect_ms), "ZMQ_RECONNECT_IVL");
  options.number(ZMQ_RECONNECT_IVL_MAX, static_cast<int>(profile.reconnect_max_ms),
                 "ZMQ_RECONNECT_IVL_MAX");
  options.number(ZMQ_CONNECT_TIMEOUT, 10'000, "ZMQ_CONNECT_TIMEOUT");
  if (!profile.routing_id.empty()) {
    options.text(ZMQ_ROUTING_ID, profile.routing_id, "ZMQ_ROUTING_ID");
  }
  if (profile.key) {
    options.key(ZMQ_CURVE_SERVERKEY, profile.server.bytes, "ZMQ_CURVE_SERVERKEY");
    options.key(ZMQ_CURVE_PUBLICKEY, profile.key->public_key.bytes, "ZMQ_CURVE_PUBLICKEY");
    options.key(ZMQ_CURVE_SECRETKEY, profile.key->secret_key.bytes(), "ZMQ_CURVE_SECRETKEY");
  }
  return options.result();
}

std::size_t message_bytes_max(Plane plane) {
  return plane == Plane::control ? kControlMessageBytesMax : kBulkMessageBytesMax;
}

Result<void> check_endpoint(std::string_view endpoint, EndpointUse use) {
  const auto refuse = [endpoint](const char* why) {
    return Error{.code = Errc::bad_config,
                 .what = "'" + std::string(endpoint.substr(0, 200)) + "' is no address: " + why,
                 .detail = {},
                 .hint = "an address is tcp://HOST:PORT or ipc://PATH"};
  };
  if (endpoint.starts_with(kIpc)) {
    const std::size_t length = endpoint.size() - kIpc.size();
    if (length == 0 || length > kSocketPathMax) return refuse("the path has 1 to 107 bytes");
    return {};
  }
  if (!endpoint.starts_with(kTcp)) return refuse("it begins with neither tcp:// nor ipc://");
  const std::string_view address = endpoint.substr(kTcp.size());
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return refuse("it needs a host and a port");
  const std::string_view port_text = address.substr(colon + 1);
  if (use == EndpointUse::listen && port_text == "*") return {};
  unsigned port = 0;
  const char* const end = port_text.data() + port_text.size();
  const auto [stopped, error] = std::from_chars(port_text.data(), end, port);
  const unsigned least = use == EndpointUse::listen ? 0 : 1;
  if (error != std::errc() || stopped != end || port < least || port > 65535) {
    return refuse("a port is a number up to 65535");
  }
  return {};
}

bool is_ipv6_endpoint(std::string_view endpoint) {
  return endpoint.starts_with("tcp://[");
}

bool is_local_endpoint(std::string_view endpoint) {
  if (endpoint.starts_with(kIpc)) return true;
  if (!endpoint.starts_with(kTcp)) return false;
  const std::string_view address = endpoint.substr(kTcp.size());
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view host = address.substr(0, colon);
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // Four numbers only: "127.example.com" is a name that may lead anywhere.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace cupel::net
