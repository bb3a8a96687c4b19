// The proxy over loopback sockets: what it carries, what it refuses, when it ends.
#include "worker/egress/proxy.hpp"

#include "worker/core/egress/credentials.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace cupel::worker::egress {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A server of one connection at a time on a thread of its own.
class Server {
 public:
  explicit Server(std::string answer) : answer_(std::move(answer)), thread_([this] { run(); }) {}
  ~Server() {
    stopping_ = true;
    asio::io_context io;
    tcp::socket wake(io);
    boost::system::error_code ignored;
    wake.connect(endpoint_, ignored);
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return endpoint_.port(); }
  [[nodiscard]] std::string said() {
    const std::lock_guard guard(mutex_);
    return said_;
  }

 private:
  void run() {
    for (;;) {
      tcp::socket socket(io_);
      acceptor_.accept(socket);
      if (stopping_) return;
      std::array<char, 4096> bytes{};
      boost::system::error_code failure;
      const std::size_t got = socket.read_some(asio::buffer(bytes), failure);
      {
        const std::lock_guard guard(mutex_);
        said_.assign(bytes.data(), got);
      }
      asio::write(socket, asio::buffer(answer_), failure);
    }
  }

  std::string answer_;
  asio::io_context io_;
  tcp::acceptor acceptor_{io_, {asio::ip::make_address("127.0.0.1"), 0}};
  tcp::endpoint endpoint_ = acceptor_.local_endpoint();
  std::mutex mutex_;
  std::string said_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

template <typename T>
T await(asio::awaitable<T> task) {
  asio::io_context io;
  std::optional<T> value;
  asio::co_spawn(io, std::move(task),
                 [&](std::exception_ptr, T result) { value = std::move(result); });
  io.run();
  return *std::move(value);
}

asio::awaitable<bool> open(Proxy& proxy, std::string run, Allowance allowance) {
  co_await proxy.open(std::move(run), "secret", std::move(allowance));
  co_return true;
}

class ProxyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sources =
        module_sources({.goproxy = "http://u:pw@127.0.0.1:" + std::to_string(web_.port()),
                        .gosumdb = "sum https://localhost:" + std::to_string(echo_.port()),
                        .by_operator = true});
    ASSERT_TRUE(sources);
    allowance_.allowed = sources->allowed;
    allowance_.bytes_max = 1U << 20U;
    allowance_.until = std::chrono::steady_clock::now() + seconds(60);
    const auto port = await(proxy_.listen("127.0.0.1"));
    ASSERT_TRUE(port) << port.error().text();
    port_ = *port;
    ASSERT_TRUE(await(open(proxy_, "run", allowance_)));
    echo_target_ = "localhost:" + std::to_string(echo_.port());
  }

  [[nodiscard]] std::string ask(const std::string& bytes) const {
    asio::io_context io;
    tcp::socket socket(io);
    socket.connect({asio::ip::make_address("127.0.0.1"), port_});
    boost::system::error_code failure;
    asio::write(socket, asio::buffer(bytes), failure);
    std::string answer;
    asio::read(socket, asio::dynamic_buffer(answer), failure);
    return answer;
  }
  [[nodiscard]] static std::string auth(const std::string& run = "run",
                                        const std::string& secret = "secret") {
    return "Proxy-Authorization: " + basic_authorization(run, secret) + "\r\n";
  }
  [[nodiscard]] std::string connect(const std::string& rest = "") const {
    return "CONNECT " + echo_target_ + " HTTP/1.1\r\n" + auth() + "\r\n" + rest;
  }
  static std::string get(const std::string& more = "Connection: close\r\n") {
    return "GET http://local-0.cupel.invalid/m/@v/list HTTP/1.1\r\n" + auth() + more + "\r\n";
  }

  Server web_{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\n\r\nhello"};
  Server echo_{"pong"};
  Proxy proxy_{ProxyOptions{
      .upstream = {}, .ca_file = {}, .head_limit = seconds(2), .idle_limit = seconds(2)}};
  Allowance allowance_;
  std::uint16_t port_ = 0;
  std::string echo_target_;
};

TEST_F(ProxyTest, ATunnelCarriesBothWays) {
  const std::string answer = ask(connect("ping"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\npong"));
  EXPECT_EQ(echo_.said(), "ping");
  const Traffic traffic = await(proxy_.close("run"));
  EXPECT_EQ(traffic.bytes, 8U);
  EXPECT_EQ(traffic.connections, 1U);
}

TEST_F(ProxyTest, AFetchAddsCredentialsAndShowsNeitherThemNorCookies) {
  const std::string answer = ask(get());
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nhello"));
  EXPECT_THAT(answer, Not(HasSubstr("Cookie")));
  EXPECT_THAT(web_.said(), StartsWith("GET /m/@v/list HTTP/1.1\r\n"));
  EXPECT_THAT(web_.said(), HasSubstr("Authorization: " + basic_authorization("u", "pw")));
  EXPECT_THAT(web_.said(), Not(HasSubstr("Proxy-Authorization")));
  EXPECT_THAT(web_.said(), HasSubstr("Host: 127.0.0.1:" + std::to_string(web_.port())));
}

TEST_F(ProxyTest, AConnectionServesOneRequestAfterTheOther) {
  const std::string answer = ask(get("") + get());
  const auto first = answer.find("hello");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(answer.find("hello", first + 1), std::string::npos) << answer;
}

TEST_F(ProxyTest, RefusalsAreAnsweredAndKept) {
  EXPECT_THAT(ask("CONNECT example.com:443 HTTP/1.1\r\n" + auth() + "\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("CONNECT " + echo_target_ + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 407 "));
  EXPECT_THAT(ask("CONNECT " + echo_target_ + " HTTP/1.1\r\n" + auth("run", "no") + "\r\n"),
              StartsWith("HTTP/1.1 407 "));
  EXPECT_THAT(ask("garbage\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n" + auth() + "\r\n"), StartsWith("HTTP/1.1 400 "));
  const auto lines = refusal_lines(await(proxy_.close("run")));
  EXPECT_THAT(lines, ::testing::Contains("egress refused: CONNECT example.com:443 (target)"));
  EXPECT_THAT(ask(connect("ping")), StartsWith("HTTP/1.1 407 ")) << "closed means closed";
}

TEST_F(ProxyTest, ASecondRunCantUseAConnectionOfTheFirst) {
  ASSERT_TRUE(await(open(proxy_, "other", allowance_)));
  const std::string other =
      "GET http://local-0.cupel.invalid/x HTTP/1.1\r\n" + auth("other") + "\r\n";
  EXPECT_THAT(ask(get("") + other), HasSubstr("HTTP/1.1 407 "));
}

TEST_F(ProxyTest, ATargetThatDoesNotAnswerIsABadGateway) {
  asio::io_context io;
  std::uint16_t closed = 0;
  {
    const tcp::acceptor held(io, {asio::ip::make_address("127.0.0.1"), 0});
    closed = held.local_endpoint().port();
  }
  Allowance allowance = allowance_;
  allowance.allowed.targets[1].at.port = closed;
  allowance.allowed.targets[1].known_as.port = closed;
  ASSERT_TRUE(await(open(proxy_, "third", allowance)));
  const std::string target = "localhost:" + std::to_string(closed);
  // The go command shows these words, and no others, of a CONNECT that fails.
  EXPECT_THAT(ask("CONNECT " + target + " HTTP/1.1\r\n" + auth("third") + "\r\n"),
              StartsWith("HTTP/1.1 502 cupel: refused (unreachable): " + target + "\r\n"));
}

TEST_F(ProxyTest, ANameThatStandsForLoopbackIsRefusedWhereNobodyConfiguredLoopback) {
  Allowance allowance = allowance_;
  allowance.allowed.targets[1].by_operator = false;
  ASSERT_TRUE(await(open(proxy_, "fourth", allowance)));
  EXPECT_THAT(ask("CONNECT " + echo_target_ + " HTTP/1.1\r\n" + auth("fourth") + "\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(refusal_lines(await(proxy_.close("fourth"))),
              ::testing::Contains(HasSubstr("(address)")));
}

TEST_F(ProxyTest, BytesAndTimeCutWhatIsOpen) {
  Allowance small = allowance_;
  small.bytes_max = 6;
  ASSERT_TRUE(await(open(proxy_, "small", small)));
  const std::string answer =
      ask("CONNECT " + echo_target_ + " HTTP/1.1\r\n" + auth("small") + "\r\nping");
  EXPECT_THAT(answer, Not(HasSubstr("pong")));
  EXPECT_THAT(refusal_lines(await(proxy_.close("small"))),
              ::testing::Contains(HasSubstr("(bytes)")));

  Allowance brief = allowance_;
  brief.until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  ASSERT_TRUE(await(open(proxy_, "brief", brief)));
  const auto began = std::chrono::steady_clock::now();
  (void)ask("CONNECT " + echo_target_ + " HTTP/1.1\r\n" + auth("brief") + "\r\n");  // says nothing
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(10));
  EXPECT_THAT(refusal_lines(await(proxy_.close("brief"))),
              ::testing::Contains(HasSubstr("(time)")));
}

class FailingProxyTest : public ::testing::Test {
 protected:
  [[nodiscard]] static std::string get(std::uint16_t port) {
    asio::io_context io;
    tcp::socket socket(io);
    socket.connect({asio::ip::make_address("127.0.0.1"), port});
    boost::system::error_code failure;
    asio::write(
        socket,
        asio::buffer("GET http://local-0.cupel.invalid/x HTTP/1.1\r\nProxy-Authorization: " +
                     basic_authorization("run", "secret") + "\r\nConnection: close\r\n\r\n"),
        failure);
    std::string answer;
    asio::read(socket, asio::dynamic_buffer(answer), failure);
    return answer;
  }
};

TEST_F(FailingProxyTest, AProxyThatFailsIsLeftAloneAndItsRetryAfterIsPassedOn) {
  Server web("HTTP/1.1 503 Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n");
  Proxy proxy(ProxyOptions{
      .upstream = {}, .ca_file = {}, .guard = {.failures = 2}, .wait_max = seconds(1)});
  const auto sources = module_sources({.goproxy = "http://127.0.0.1:" + std::to_string(web.port()),
                                       .gosumdb = "",
                                       .by_operator = true});
  ASSERT_TRUE(sources);
  const auto port = await(proxy.listen("127.0.0.1"));
  ASSERT_TRUE(port);
  ASSERT_TRUE(await(open(proxy, "run",
                         {.allowed = sources->allowed,
                          .bytes_max = 1U << 20U,
                          .until = std::chrono::steady_clock::now() + seconds(60)})));

  const std::string first = get(*port);
  EXPECT_THAT(first, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(first, HasSubstr("Retry-After: 30"));
  EXPECT_FALSE(await(proxy.paused())) << "one answer is no outage";
  const std::string said = web.said();
  EXPECT_THAT(get(*port), HasSubstr("refused (paused)"));
  EXPECT_EQ(web.said(), said) << "it was asked before it wanted to be";
  EXPECT_THAT(refusal_lines(await(proxy.close("run"))), ::testing::Contains(HasSubstr("(paused)")));
}

TEST_F(ProxyTest, AClientThatSaysNothingIsCut) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(""), "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(10));
}

TEST_F(ProxyTest, AnAddressThatIsNotTheHostsIsAnError) {
  const auto port = await(proxy_.listen("203.0.113.7"));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::io_error);
}

}  // namespace
}  // namespace cupel::worker::egress
