/// Credentials of module proxies and of the environment's proxy, as HTTP wants them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace cupel::worker::egress {

/// "Basic ..." of a user and a password.
[[nodiscard]] std::string basic_authorization(const std::string& user, const std::string& password);

/// The same of the part of a URL before its '@', percent-encoded.
[[nodiscard]] std::string authorization_of_userinfo(std::string_view userinfo);

/// The same for a host of a netrc file: its "machine", else "default"; empty where neither has a
/// login. Macros are skipped. Source: the netrc format as curl and the go command read it.
[[nodiscard]] std::string authorization_of_netrc(std::string_view netrc, std::string_view host);

}  // namespace cupel::worker::egress
