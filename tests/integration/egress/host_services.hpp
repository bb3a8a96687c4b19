/// What a host may have: a service on all its addresses, and, on loopback, a module proxy and a
/// server that says back what it hears.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace cupel::test {

class HostServices {
 public:
  HostServices();
  ~HostServices();
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  [[nodiscard]] std::uint16_t open_port() const { return open_port_; }
  [[nodiscard]] std::uint16_t proxy_port() const { return proxy_port_; }
  [[nodiscard]] std::uint16_t echo_port() const { return echo_port_; }
  /// Connections and datagrams at the service on all addresses.
  [[nodiscard]] int visits() const { return visits_; }
  /// Requests at the module proxy, and the last one's head.
  [[nodiscard]] int fetches() const { return fetches_; }

 private:
  using Tcp = boost::asio::ip::tcp;
  /// Answers the first bytes of each connection and ends it.
  std::uint16_t serve(Tcp::acceptor& acceptor, const char* address,
                      std::function<std::string(const std::string& said)> answer);

  boost::asio::io_context io_{1};
  Tcp::acceptor open_{io_};
  Tcp::acceptor proxy_{io_};
  Tcp::acceptor echo_{io_};
  boost::asio::ip::udp::socket datagrams_{io_};
  std::uint16_t open_port_ = 0;
  std::uint16_t proxy_port_ = 0;
  std::uint16_t echo_port_ = 0;
  std::atomic<int> visits_ = 0;
  std::atomic<int> fetches_ = 0;
  std::thread thread_;
};

/// What the module proxy answers to /big: 8 MiB, the same each time.
[[nodiscard]] std::string big_body();

/// What the address says within a second; empty where nobody answers.
[[nodiscard]] std::string ask_from_host(const std::string& ip, std::uint16_t port);

}  // namespace cupel::test
