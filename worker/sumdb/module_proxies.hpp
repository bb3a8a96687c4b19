/// Module proxies in the order and with the fallbacks that the go command knows. Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/curl/http_fetch.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::sumdb {

struct ModuleProxy {
  std::string url;               ///< Without a slash at its end.
  bool next_on_failure = false;  ///< Behind it stands a bar: any failure leads to the next one.
  friend bool operator==(const ModuleProxy&, const ModuleProxy&) = default;
};

/// Of a GOPROXY; what is no http or https URL is left out.
[[nodiscard]] std::vector<ModuleProxy> module_proxies(std::string_view goproxy);

struct ProxyAnswer {
  std::string proxy;  ///< Whose it is.
  std::string bytes;
};

/// What the first proxy that has it says. Errors: not_found (none has it, or there is none),
/// io_error (one that may not be passed over failed), too_large, cancelled.
[[nodiscard]] Result<ProxyAnswer> ask_proxies(const std::vector<ModuleProxy>& proxies,
                                              const curl::Fetch& fetch, const std::string& path,
                                              std::uint64_t bytes_max);

}  // namespace cupel::worker::sumdb
