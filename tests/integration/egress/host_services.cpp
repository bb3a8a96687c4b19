#include "tests/integration/egress/host_services.hpp"

#include "common/async/no_throw.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <memory>
#include <sys/socket.h>
#include <utility>

namespace cupel::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;

namespace {

using Answer = std::function<std::string(const std::string&)>;

asio::awaitable<void> answer_once(tcp::socket socket, Answer answer) {
  std::array<char, 8192> said{};
  const auto [failure, bytes] = co_await socket.async_read_some(asio::buffer(said), kNoThrow);
  if (failure) co_return;
  const std::string text = answer(std::string(said.data(), bytes));
  (void)co_await asio::async_write(socket, asio::buffer(text), kNoThrow);
}

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, Answer answer) {
  for (;;) {
    auto [failure, socket] = co_await acceptor.async_accept(kNoThrow);
    if (failure) co_return;
    asio::co_spawn(acceptor.get_executor(), answer_once(std::move(socket), answer), asio::detached);
  }
}

asio::awaitable<void> echo_datagrams(udp::socket& socket, std::atomic<int>& visits) {
  std::array<char, 1500> said{};
  for (;;) {
    udp::endpoint from;
    const auto [failure, bytes] =
        co_await socket.async_receive_from(asio::buffer(said), from, kNoThrow);
    if (failure) co_return;
    ++visits;
    (void)co_await socket.async_send_to(asio::buffer(said.data(), bytes), from, kNoThrow);
  }
}

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

std::uint16_t HostServices::serve(tcp::acceptor& acceptor, const char* address, Answer answer) {
  const tcp::endpoint endpoint(asio::ip::make_address(address), 0);
  acceptor.open(endpoint.protocol());
  acceptor.bind(endpoint);
  acceptor.listen();
  asio::co_spawn(io_, accept_all(acceptor, std::move(answer)), asio::detached);
  return acceptor.local_endpoint().port();
}

HostServices::HostServices() {
  open_port_ = serve(open_, "0.0.0.0", [this](const std::string&) {
    ++visits_;
    return http("200 OK", "secret of the host\n");
  });
  proxy_port_ = serve(proxy_, "127.0.0.1", [this](const std::string& said) {
    ++fetches_;
    if (said.starts_with("GET /hello ")) return http("200 OK", "hello from the proxy\n");
    if (said.starts_with("GET /big ")) return http("200 OK", big_body());
    return http("404 Not Found", "not found\n");
  });
  echo_port_ = serve(echo_, "127.0.0.1", [](const std::string& said) { return "echo: " + said; });
  datagrams_.open(udp::v4());
  datagrams_.bind({udp::v4(), open_port_});
  asio::co_spawn(io_, echo_datagrams(datagrams_, visits_), asio::detached);
  thread_ = std::thread([this] { io_.run(); });
}

HostServices::~HostServices() {
  io_.stop();
  thread_.join();
}

std::string big_body() {
  std::string body(std::size_t{8} << 20U, ' ');
  std::uint32_t state = 1;
  for (char& c : body) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>('a' + (state >> 24U) % 26U);
  }
  return body;
}

std::string ask_from_host(const std::string& ip, std::uint16_t port) {
  asio::io_context io;
  tcp::socket socket(io);
  boost::system::error_code failure;
  socket.connect({asio::ip::make_address(ip), port}, failure);
  if (failure) return {};
  const timeval second{1, 0};
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
  (void)socket.write_some(asio::buffer("hello\n", 6), failure);
  std::array<char, 256> said{};
  const std::size_t bytes = socket.read_some(asio::buffer(said), failure);
  return {said.data(), bytes};
}

}  // namespace cupel::test
