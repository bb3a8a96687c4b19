/// From the proxy to a target: names are resolved here, addresses checked, and a proxy of the
/// worker's own environment is gone through.
#pragma once

#include "worker/core/egress/request.hpp"
#include "worker/core/egress/upstream_proxy.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <optional>
#include <variant>

namespace cupel::worker::egress {

/// A connection on which the target's bytes come next, or why there is none.
[[nodiscard]] boost::asio::awaitable<std::variant<boost::asio::ip::tcp::socket, Refused>>
connect_to(Target target, std::optional<UpstreamProxy> through);

}  // namespace cupel::worker::egress
