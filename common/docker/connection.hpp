/// One HTTP exchange with the engine over its unix socket. Beast stays behind this header.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::docker::detail {

/// Takes a piece of a body. False: enough, end the exchange.
using BodySink = std::function<Result<bool>(std::string_view bytes)>;
using BodySource = std::function<boost::asio::awaitable<Result<std::string>>()>;

struct Request {
  std::string what;  ///< For messages: "kill 4f1c9a".
  std::string method;
  std::string target;  ///< With the version prefix.
  std::string body = {};
  std::string content_type = "application/json";
  /// Connect, write, and read. When body_budget is set it ends with the answer's head, and the body
  /// has a clock of its own.
  Duration budget{};
  std::optional<Duration> body_budget = std::nullopt;
  std::size_t body_bytes_max = 64 * 1024;  ///< Of a body that is kept.
  bool upgrade = false;                    ///< Asks for the connection itself (attach).
  /// Done twice it does what it does once: made again when no byte of an answer came.
  bool repeatable = false;
  BodySink sink =
      nullptr;  ///< Gets the body of a 2xx answer instead of keeping it (no limit but its own).
  BodySource source = nullptr;  ///< The request's body in pieces (chunked), instead of `body`.
};

struct Answer {
  unsigned status = 0;
  std::string body;      ///< Empty when a sink took it.
  bool stopped = false;  ///< The sink had enough.
};

/// Errors: engine_timeout, engine_unreachable, engine_protocol, cancelled; those of sink and
/// source.
[[nodiscard]] boost::asio::awaitable<Result<Answer>> exchange(std::string socket_path,
                                                              Request request);

struct Upgraded {
  Answer answer;
  boost::asio::local::stream_protocol::socket socket;
  std::string early_bytes;  ///< Came with the answer's head.
};

/// For attach: the connection itself after the answer's head. `answer.status` is not 101 or 200
/// when the engine refused.
[[nodiscard]] boost::asio::awaitable<Result<Upgraded>> upgrade(std::string socket_path,
                                                               Request request);

[[nodiscard]] Error transport_error(const boost::system::error_code& ec, const std::string& what,
                                    Duration budget);

}  // namespace cupel::docker::detail
