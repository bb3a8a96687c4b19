#include "worker/egress/connect.hpp"

#include "common/async/no_throw.hpp"
#include "common/async/with_budget.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cupel::worker::egress {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr Duration kConnectLimit = std::chrono::seconds(15);
constexpr std::uint32_t kAnswerBytesMax = 16 * 1024;

using Connected = std::variant<tcp::socket, Refused>;

/// The first address that answers. The resolver can't be cancelled, so it has no budget here.
asio::awaitable<std::optional<tcp::socket>> connect_one_of(std::vector<tcp::endpoint> endpoints) {
  const auto executor = co_await asio::this_coro::executor;
  for (const tcp::endpoint& endpoint : endpoints) {
    tcp::socket socket(executor);
    auto attempt = socket.async_connect(endpoint, kNoThrow);
    const auto connected = co_await async::with_budget(std::move(attempt), kConnectLimit);
    if (connected && !std::get<0>(*connected)) co_return std::move(socket);
  }
  co_return std::nullopt;
}

asio::awaitable<std::vector<tcp::endpoint>> resolve(HostPort at) {
  tcp::resolver resolver(co_await asio::this_coro::executor);
  const std::string port = std::to_string(at.port);
  const auto [failure, results] =
      co_await resolver.async_resolve(at.host, port, tcp::resolver::numeric_service, kNoThrow);
  std::vector<tcp::endpoint> endpoints;
  if (failure) co_return endpoints;
  for (const auto& entry : results) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

/// Asks the environment's proxy for a tunnel.
asio::awaitable<bool> open_tunnel(tcp::socket& socket, std::string to, std::string authorization) {
  std::string request = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n";
  if (!authorization.empty()) request += "Proxy-Authorization: " + authorization + "\r\n";
  request += "\r\n";
  const auto [unsent, sent] = co_await asio::async_write(socket, asio::buffer(request), kNoThrow);
  if (unsent) co_return false;
  boost::beast::flat_buffer buffer;
  http::response_parser<http::empty_body> answer;
  answer.header_limit(kAnswerBytesMax);
  answer.skip(true);
  const auto [unread, bytes] = co_await http::async_read_header(socket, buffer, answer, kNoThrow);
  // Bytes behind the head would be the target's, before we have said anything to it: TLS and HTTP
  // servers wait.
  co_return !unread && answer.get().result_int() / 100 == 2 && buffer.size() == 0;
}

asio::awaitable<Connected> through_proxy(Target target, UpstreamProxy proxy) {
  std::vector<tcp::endpoint> endpoints = co_await resolve(proxy.at);
  std::optional<tcp::socket> socket = co_await connect_one_of(std::move(endpoints));
  if (!socket) co_return Refused::unreachable;
  auto asking = open_tunnel(*socket, target.at.text(), proxy.authorization);
  const std::optional<bool> opened = co_await async::with_budget(std::move(asking), kConnectLimit);
  if (!opened || !*opened) co_return Refused::unreachable;
  co_return *std::move(socket);
}

}  // namespace

asio::awaitable<Connected> connect_to(Target target, std::optional<UpstreamProxy> through) {
  if (through && through->is_for(target.at.host)) {
    // It resolves the name itself; the list still holds.
    co_return co_await through_proxy(std::move(target), *std::move(through));
  }
  const std::vector<tcp::endpoint> all = co_await resolve(target.at);
  std::vector<tcp::endpoint> good;
  for (const tcp::endpoint& endpoint : all) {
    if (may_connect(target, endpoint.address().to_string())) good.push_back(endpoint);
  }
  if (good.empty()) co_return all.empty() ? Refused::unreachable : Refused::address;
  std::optional<tcp::socket> socket = co_await connect_one_of(std::move(good));
  if (!socket) co_return Refused::unreachable;
  co_return *std::move(socket);
}

}  // namespace cupel::worker::egress
