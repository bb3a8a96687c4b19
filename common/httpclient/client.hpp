/// A small blocking HTTP/1.1 client for the coordinator's API. One connection for each request;
/// every wait is bounded. An object belongs to one thread.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/httpclient/sse.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::httpclient {

struct Options {
  std::string
      base_url;  ///< "http://host:port" or "https://...", optionally with a path before /api.
  std::string ca_file;  ///< PEM; for https. Empty = the system's authorities.
  std::string token;    ///< Bearer token; empty = none. Never in an error's text.
  Duration connect = std::chrono::seconds(5);  ///< Name, connection.
  Duration idle = std::chrono::seconds(60);    ///< Longest silence while reading or writing.
  Duration reconnect =
      std::chrono::seconds(60);  ///< events(): how long an unreachable server is tried again.
  std::uint64_t body_bytes_max = 256ULL << 20;
  /// When this descriptor becomes readable, the call under way ends with Errc::cancelled. -1 =
  /// none. Never read here.
  int interrupt_fd = -1;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Response {
  int status = 0;
  std::string content_type;
  std::string content_range;
  std::string body;
};

/// Called for each event. Return false to end.
using EventHandler = std::function<bool(const Event& event)>;
/// Called with the headers of an answer. Return false to end.
using HeaderSink = std::function<bool(const Headers& headers)>;
/// Called for pieces of a body, in order. Return false to end.
using BodySink = std::function<bool(std::string_view bytes)>;

/// Errors of all calls: coordinator_unreachable, cancelled, bad_value (URL), not_trusted and
/// key_unreadable (TLS), and for every status
/// but 2xx the code of the problem+json (or one fitting the status) with its detail and hint.
class Client {
 public:
  explicit Client(Options options);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  [[nodiscard]] Result<Response> send(const std::string& method, const std::string& target,
                                      const std::string& body = "",
                                      const std::string& content_type = "application/json",
                                      const Headers& headers = {});
  [[nodiscard]] Result<nlohmann::json> get(const std::string& target);
  [[nodiscard]] Result<nlohmann::json> post(const std::string& target, const std::string& body,
                                            const std::string& content_type = "application/json",
                                            const Headers& headers = {});
  /// Sends a file as the body without holding it in memory; the answer as JSON.
  [[nodiscard]] Result<nlohmann::json> upload(const std::string& target,
                                              const std::filesystem::path& file,
                                              const Headers& headers);
  /// Bytes from `from` to the end (Range), piece by piece; false in `sink` ends the call with
  /// success. A range that begins at the end of what there is yields nothing.
  /// `head` sees the answer's headers first; false there ends the call with success as well.
  [[nodiscard]] Result<void> download(const std::string& target, std::uint64_t from,
                                      const BodySink& sink, const HeaderSink& head = {});
  /// Server-sent events from after `last_id` (empty = from the beginning). Reconnects after a cut
  /// with Last-Event-ID, so that the handler sees each event once; returns when the handler says
  /// so.
  [[nodiscard]] Result<void> events(const std::string& target, const std::string& last_id,
                                    const EventHandler& handler);

  /// Waits at most this long for the interrupt descriptor. True = interrupted.
  [[nodiscard]] bool pause(Duration duration);

 private:
  struct Connection;
  Options options_;
};

}  // namespace cupel::httpclient
