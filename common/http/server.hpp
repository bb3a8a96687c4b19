/// HTTP/1.1 server: routes by template, limits on everything, problem+json errors, SSE, ranges,
/// uploads.
///
/// Lives on one io_context run by one thread; every method but the constructor is called there or
/// before it runs. The library behind it appears only in server.cpp and connection.cpp.
#pragma once

#include "common/http/message.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::http {

struct ServerOptions {
  std::string listen = "127.0.0.1:8080";  ///< "host:port" or "[::1]:port"; port 0 = any free one.
  std::size_t header_bytes_max = 16 * 1024;
  std::size_t connections_max = 1024;  ///< Above it a connection is answered 503 and closed.
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds idle_timeout{60'000};  ///< Between requests of a kept connection.
  std::chrono::milliseconds body_timeout{30'000};  ///< For each piece of a body, in and out.
  std::chrono::milliseconds keep_alive_comment{15'000};
  TokenTable tokens;
  /// Asked before a request that needs a scope is served: why it can't be now.
  std::function<std::optional<Error>(std::string_view route)> refuse;
  /// After each request: template of the route ("other" where none matched), status, seconds. SSE:
  /// 0 s.
  std::function<void(std::string_view route, unsigned status, double seconds)> on_request;
  std::function<void(int change)> on_sse_clients;  ///< +1, -1
  std::function<void()> on_sse_dropped;            ///< A client that read too slowly was cut off.
};

struct RouteOptions {
  std::string scope;  ///< Needed scope; empty = open to everyone.
  std::size_t body_bytes_max = 1024 * 1024;
};

class Server {
 public:
  Server(boost::asio::io_context& loop, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// `pattern`: "/api/v1/tasks/{t}/log"; a {name} matches one non-empty segment.
  void route(std::string method, std::string pattern, Handler handler, RouteOptions options = {});
  void route_sync(std::string method, std::string pattern, SyncHandler handler,
                  RouteOptions options = {});
  void route_upload(std::string method, std::string pattern, UploadHandler handler,
                    std::uint64_t bytes_max, RouteOptions options = {});

  /// Templates of all routes so far, each once: the label set of request metrics (and "other").
  [[nodiscard]] std::vector<std::string> patterns() const;

  /// Binds and starts to accept. Errors: bad_config (malformed address), already_exists (address in
  /// use; names it), io_error.
  [[nodiscard]] Result<void> listen();
  /// "127.0.0.1:34567", after listen().
  [[nodiscard]] std::string address() const;

  /// No new connection or request; running ones end within `grace`, streams at once. `stopped` is
  /// called when nothing is left.
  void stop(std::chrono::milliseconds grace, std::function<void()> stopped);

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace cupel::http
