/// What the proxy's source files share. The proxy's thread only, but for the loop itself.
#pragma once

#include "worker/egress/proxy.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <memory>
#include <set>
#include <string>
#include <thread>

namespace cupel::worker::egress {

/// TCP where the proxy listens, a local socket where something else does.
using ClientSocket = boost::asio::generic::stream_protocol::socket;

/// A connection of a client, with what it leads to.
struct Connection {
  Connection(Proxy::State& proxy, ClientSocket socket, std::string whose);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Counts bytes and time; false: the connection must end.
  [[nodiscard]] bool moved(std::uint64_t bytes);
  void cut();

  Proxy::State& state;
  ClientSocket client;
  boost::asio::ip::tcp::socket upstream;
  boost::beast::flat_buffer buffer;  ///< Read from the client and not used yet.
  std::string peer;
  std::string run;  ///< Whose it is; empty before its first good request.
  bool asks_for_tunnel = false;
  TimePoint last_moved;
};
using ConnectionPtr = std::shared_ptr<Connection>;

struct Proxy::State {
  explicit State(ProxyOptions wanted);

  // The loop's end destroys what still waits in it, and that takes itself out of the set.
  ProxyOptions options;
  Ledger ledger;
  UpstreamGuard guard;
  std::set<Connection*> connections;
  boost::asio::ssl::context tls;
  boost::asio::io_context loop;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  boost::asio::ip::tcp::acceptor acceptor;
  std::thread thread;

  void refused(Refused why) const;
};

/// Carries a tunnel to its end. The answer to the client's CONNECT is part of it.
[[nodiscard]] boost::asio::awaitable<void> tunnel(ConnectionPtr connection, Target target,
                                                  ProxyRequest request);

/// Fetches one thing. True: the client's connection can be asked for more.
[[nodiscard]] boost::asio::awaitable<bool> fetch(ConnectionPtr connection, Target target,
                                                 ProxyRequest request);

/// Waits until the target may be asked. False: it would take too long; the client has been told.
/// After true the guard must hear how it went.
[[nodiscard]] boost::asio::awaitable<bool> wait_for_turn(ConnectionPtr connection, Target target);

/// A short answer of the proxy's own, after which the connection ends. It names the target, where
/// one is known, since what a run asked for may be a name of ours.
[[nodiscard]] boost::asio::awaitable<void> answer(ConnectionPtr connection, Refused why,
                                                  std::string target = {});

}  // namespace cupel::worker::egress
