/// One connection of the HTTP server. Internal to common/http.
#pragma once

#include "common/http/router.hpp"
#include "common/http/server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

namespace cupel::http {

class Connection;

/// What the server and its connections share; outlives both in their coroutines.
struct Server::Shared {
  Shared(boost::asio::io_context& io, ServerOptions with)
      : loop(io), options(std::move(with)), acceptor(io), grace(io) {}

  boost::asio::io_context& loop;
  ServerOptions options;
  Router router;
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer grace;
  std::unordered_set<Connection*> connections;
  std::string address;
  bool stopping = false;
  std::function<void()> stopped;

  void finished(Connection* connection);
};

/// Starts a connection; it owns itself until it ends.
void start_connection(std::shared_ptr<Server::Shared> shared, boost::asio::ip::tcp::socket socket);

// For Server::stop().
void stop_when_idle(Connection& connection);
void stop_now(Connection& connection);

}  // namespace cupel::http
