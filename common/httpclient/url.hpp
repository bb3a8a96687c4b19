/// The base URL of a coordinator.
#pragma once

#include "common/core/error.hpp"

#include <string>
#include <string_view>

namespace cupel::httpclient {

struct Url {
  bool tls = false;
  std::string host;       ///< Without brackets.
  std::string port;       ///< "80" or "443" where none is given.
  std::string prefix;     ///< "" or "/x", never ending in '/'.
  std::string authority;  ///< As it goes into the Host header.
};

/// http://HOST[:PORT][/PREFIX], or https://. Errors: bad_value.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// Percent-encodes what may not stand in a path segment or a query value.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace cupel::httpclient
