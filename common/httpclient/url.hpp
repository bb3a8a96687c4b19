/// The base URL of a coordinator.
#pragma once

#include "common/core/error.hpp"

#include <string>
#include <string_view>

namespace cupel::httpclient {

struct Url {
  std::string host;       ///< Without brackets.
  std::string port;       ///< "80" where none is given.
  std::string prefix;     ///< "" or "/x", never ending in '/'.
  std::string authority;  ///< As it goes into the Host header.
};

/// http://HOST[:PORT][/PREFIX]. Errors: bad_value; not_supported for https (put a TLS proxy in
/// front).
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// Percent-encodes what may not stand in a path segment or a query value.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace cupel::httpclient
