#include "common/http/server.hpp"

#include "common/async/no_throw.hpp"
#include "common/http/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <charconv>
#include <set>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace cupel::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kAcceptBackOff{100};
constexpr std::string_view kBusyAnswer =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: "
    "0\r\n\r\n";

Error bad_address(const std::string& listen) {
  return {.code = Errc::bad_config,
          .what = "'" + listen + "' is no address to listen on",
          .detail = {},
          .hint = "write an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080"};
}

Result<tcp::endpoint> parse_endpoint(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return bad_address(listen);
  std::string host = listen.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const std::string port_text = listen.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, parsed] =
      std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  boost::system::error_code ec;
  const auto address = asio::ip::make_address(host, ec);
  if (ec || port_text.empty() || parsed != std::errc() ||
      end != port_text.data() + port_text.size()) {
    return bad_address(listen);
  }
  return tcp::endpoint(address, port);
}

Error listen_failed(const std::string& listen, const boost::system::error_code& ec) {
  if (ec == asio::error::address_in_use) {
    return {.code = Errc::already_exists,
            .what = "can't listen on " + listen + ": another process uses this address",
            .detail = {},
            .hint = "stop it ('ss -ltnp' names it), or choose another port"};
  }
  return {.code = Errc::io_error,
          .what = "can't listen on " + listen,
          .detail = ec.message(),
          .hint = {}};
}

void answer_busy(tcp::socket socket) {
  auto kept = std::make_shared<tcp::socket>(std::move(socket));
  asio::async_write(*kept, asio::buffer(kBusyAnswer),
                    [kept](const boost::system::error_code&, std::size_t) {});
}

asio::awaitable<void> accept_loop(std::shared_ptr<Server::Shared> shared) {
  asio::steady_timer back_off(shared->loop);
  while (shared->acceptor.is_open()) {
    auto [ec, socket] = co_await shared->acceptor.async_accept(kNoThrow);
    if (!shared->acceptor.is_open()) co_return;
    if (ec) {
      // Out of descriptors, mostly: accept would fail again at once, so wait for some to be closed.
      back_off.expires_after(kAcceptBackOff);
      co_await back_off.async_wait(kNoThrow);
      continue;
    }
    if (shared->connections.size() >= shared->options.connections_max) {
      answer_busy(std::move(socket));
      continue;
    }
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    start_connection(shared, std::move(socket));
  }
}

asio::awaitable<Response> run_sync(SyncHandler handler, Request request) {
  co_return handler(request);
}

}  // namespace

void Server::Shared::finished(Connection* connection) {
  connections.erase(connection);
  if (stopping && connections.empty() && stopped) {
    grace.cancel();
    std::exchange(stopped, {})();
  }
}

Server::Server(asio::io_context& loop, ServerOptions options)
    : shared_(std::make_shared<Shared>(loop, std::move(options))) {}

Server::~Server() {
  boost::system::error_code ignored;
  shared_->acceptor.close(ignored);
}

void Server::route(std::string method, std::string pattern, Handler handler, RouteOptions options) {
  shared_->router.add(
      {std::move(method), std::move(pattern), {}, std::move(handler), {}, 0, std::move(options)});
}

void Server::route_sync(std::string method, std::string pattern, SyncHandler handler,
                        RouteOptions options) {
  route(
      std::move(method), std::move(pattern),
      [handler = std::move(handler)](Request request) {
        return run_sync(handler, std::move(request));
      },
      std::move(options));
}

void Server::route_upload(std::string method, std::string pattern, UploadHandler handler,
                          std::uint64_t bytes_max, RouteOptions options) {
  shared_->router.add({std::move(method),
                       std::move(pattern),
                       {},
                       {},
                       std::move(handler),
                       bytes_max,
                       std::move(options)});
}

std::vector<std::string> Server::patterns() const {
  std::set<std::string> all;
  for (const Route& route : shared_->router.routes()) all.insert(route.pattern);
  return {all.begin(), all.end()};
}

Result<void> Server::listen() {
  const std::string& wanted = shared_->options.listen;
  const auto endpoint = parse_endpoint(wanted);
  if (!endpoint) return endpoint.error();
  boost::system::error_code ec;
  auto& acceptor = shared_->acceptor;
  acceptor.open(endpoint->protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(*endpoint, ec);
  if (!ec) acceptor.listen(tcp::acceptor::max_listen_connections, ec);
  if (ec) {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    return listen_failed(wanted, ec);
  }
  const auto bound = acceptor.local_endpoint();
  const std::string host = bound.address().to_string();
  shared_->address =
      (bound.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(bound.port());
  asio::co_spawn(shared_->loop, accept_loop(shared_), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  return {};
}

std::string Server::address() const {
  return shared_->address;
}

void Server::stop(std::chrono::milliseconds grace, std::function<void()> stopped) {
  boost::system::error_code ignored;
  shared_->acceptor.close(ignored);
  shared_->stopping = true;
  if (shared_->connections.empty()) {
    stopped();
    return;
  }
  shared_->stopped = std::move(stopped);
  const std::vector<Connection*> connections(shared_->connections.begin(),
                                             shared_->connections.end());
  for (Connection* connection : connections) stop_when_idle(*connection);
  shared_->grace.expires_after(grace);
  shared_->grace.async_wait([shared = shared_](const boost::system::error_code& ec) {
    if (ec) return;
    const std::vector<Connection*> late(shared->connections.begin(), shared->connections.end());
    for (Connection* connection : late) stop_now(*connection);
  });
}

}  // namespace cupel::http
