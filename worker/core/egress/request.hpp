/// What a client of the egress proxy asks for, once its head has been parsed: a tunnel (CONNECT) or
/// a fetch (GET or HEAD of an absolute http URL). Anything else is refused. Pure.
///
/// No request has a body, so that there is nothing whose length two parsers could read differently:
/// every framing header but "Content-Length: 0" is refused, and so is a header that must stand once
/// and stands twice. Source: RFC 9112 sections 3.2, 6 and 11.2.
#pragma once

#include "worker/core/egress/allow_list.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::worker::egress {

/// A head as the HTTP library parsed it.
struct ProxyHead {
  std::string method;
  std::string target;
  unsigned version = 11;
  std::vector<std::pair<std::string, std::string>> headers;  ///< In order; names in any case.
};

/// Why the proxy does not do what it was asked for.
enum class Refused : std::uint8_t {
  malformed,    ///< No request that this proxy understands: 400
  credentials,  ///< None, unknown ones, or those of a run that is at another address: 407
  target,       ///< Not on the list: 403
  address,      ///< On the list, but its name stands for an address that no run may reach: 403
  bytes,        ///< The run's bytes are used up: 403
  time,         ///< The run's time is over: 403
  connections,  ///< More at once than a run may have: 503
  unreachable,  ///< The target doesn't answer: 502
  paused,       ///< The target is left alone for now, for its own sake: 503
};
inline constexpr std::size_t kRefusedCount = 9;
[[nodiscard]] std::string_view name(Refused why);
[[nodiscard]] unsigned status_of(Refused why);

struct ProxyRequest {
  bool tunnel = false;
  bool head = false;  ///< Of a fetch.
  HostPort to;
  std::string path;  ///< Of a fetch: with its query, beginning with '/'.
  std::string run;
  std::string secret;
};

struct RequestRefused {
  Refused why = Refused::malformed;
  std::string run = {};   ///< Whose it says to be; empty where it doesn't.
  std::string what = {};  ///< Printable, at most 200 bytes: "CONNECT example.com:443".
};

[[nodiscard]] std::variant<ProxyRequest, RequestRefused> understand(const ProxyHead& head);

/// Printable ASCII of foreign bytes, cut to 200.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace cupel::worker::egress
