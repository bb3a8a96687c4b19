/// The proxy through which the worker itself gets out, from the variables of its environment. Pure.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/egress/allow_list.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker::egress {

struct UpstreamProxy {
  HostPort at;
  std::string authorization;        ///< "Basic ..." or empty; never enters a container.
  std::vector<std::string> direct;  ///< NO_PROXY's entries, lower case.

  /// False for a host of NO_PROXY, and for loopback.
  [[nodiscard]] bool is_for(const std::string& host) const;
};

/// `environment`: HTTPS_PROXY, HTTP_PROXY and NO_PROXY in either case; HTTPS_PROXY wins. Nothing
/// where none is set. Errors: bad_config for a proxy that is not reached by http.
[[nodiscard]] Result<std::optional<UpstreamProxy>> upstream_proxy(
    const std::map<std::string, std::string>& environment);

}  // namespace cupel::worker::egress
