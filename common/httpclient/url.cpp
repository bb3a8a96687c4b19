#include "common/httpclient/url.hpp"

#include <algorithm>

namespace cupel::httpclient {
namespace {

Error bad(std::string_view text, const std::string& why) {
  return {Errc::bad_value,
          "\"" + std::string(text.substr(0, 200)) + "\" is not a coordinator's address: " + why, "",
          "write http://HOST:PORT"};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const bool tls = text.starts_with("https://");
  if (!tls && !text.starts_with("http://"))
    return bad(text, "it begins neither with http:// nor with https://");
  const std::string_view rest = text.substr(tls ? 8 : 7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view prefix = rest.substr(slash);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.find_first_of("?# \r\n") != std::string_view::npos)
    return bad(text, "a query doesn't belong there");
  if (authority.find('@') != std::string_view::npos)
    return bad(text, "a user doesn't belong there");
  Url url;
  url.tls = tls;
  url.authority = authority;
  url.prefix = prefix;
  url.port = tls ? "443" : "80";
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return bad(text, "the bracket isn't closed");
    url.host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    authority.remove_prefix(colon);
  }
  if (!authority.empty()) {
    url.port = authority.substr(1);
    const bool digits = !url.port.empty() && url.port.size() <= 5 &&
                        std::ranges::all_of(url.port, [](char c) { return c >= '0' && c <= '9'; });
    if (authority.front() != ':' || !digits) return bad(text, "the port isn't a number");
  }
  if (url.host.empty() || url.host.find_first_of(" \r\n") != std::string::npos)
    return bad(text, "it names no host");
  return url;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return out;
}

}  // namespace cupel::httpclient
