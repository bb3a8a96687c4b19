#include "worker/core/egress/request.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <optional>

namespace cupel::worker::egress {

namespace {

constexpr std::size_t kShownBytesMax = 200;
constexpr std::size_t kCredentialBytesMax = 256;

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c - 0; };
    return lower(x) == lower(y);
  });
}

/// The value of a header that may stand once; nullopt where it stands more often.
std::optional<std::string> single(const ProxyHead& head, std::string_view wanted) {
  std::optional<std::string> found;
  for (const auto& [header, value] : head.headers) {
    if (!same_name(header, wanted)) continue;
    if (found) return std::nullopt;
    found = value;
  }
  return found.value_or("");
}

bool has(const ProxyHead& head, std::string_view wanted) {
  return std::ranges::any_of(head.headers,
                             [&](const auto& header) { return same_name(header.first, wanted); });
}

bool without_body(const ProxyHead& head) {
  if (has(head, "transfer-encoding") || has(head, "expect") || has(head, "upgrade")) return false;
  const auto length = single(head, "content-length");
  return length && (length->empty() || *length == "0") &&
         (has(head, "content-length") == !length->empty());
}

struct Credentials {
  std::string run;
  std::string secret;
};

/// Nothing where the header is not of the scheme Basic, or is no base64 of "run:secret".
std::optional<Credentials> credentials_of(std::string_view header) {
  constexpr std::string_view kScheme = "basic ";
  if (header.size() <= kScheme.size() || header.size() > kCredentialBytesMax ||
      !same_name(header.substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  header.remove_prefix(kScheme.size());
  std::array<char, kCredentialBytesMax> bytes{};
  std::size_t length = 0;
  if (::sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                          header.data(), header.size(), nullptr, &length, nullptr,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
    return std::nullopt;
  }
  const std::string_view text(bytes.data(), length);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return Credentials{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

bool is_path(std::string_view path) {
  return path.starts_with('/') &&
         std::ranges::all_of(path, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
}

/// "http://host[:port]/path". A target without a path asks for "/".
bool read_absolute(std::string_view target, ProxyRequest& request) {
  constexpr std::string_view kScheme = "http://";
  if (target.size() <= kScheme.size() || !same_name(target.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  target.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(target.find_first_of("/?#"), target.size());
  std::string authority(target.substr(0, slash));
  request.path = slash == target.size() ? "/" : std::string(target.substr(slash));
  const auto colon = authority.rfind(':');
  if (colon == std::string::npos || authority.find(']', colon) != std::string::npos) {
    authority += ":80";
  }
  auto to = parse_authority(authority);
  if (!to || !is_path(request.path)) return false;
  request.to = std::move(*to);
  return true;
}

bool read_target(const ProxyHead& head, ProxyRequest& request) {
  if (head.method == "CONNECT") {
    auto to = parse_authority(head.target);
    if (!to) return false;
    request.tunnel = true;
    request.to = std::move(*to);
    return true;
  }
  request.head = head.method == "HEAD";
  return (request.head || head.method == "GET") && read_absolute(head.target, request);
}

/// A Host header says the same as the target, or nothing.
bool host_agrees(const std::string& host, const ProxyRequest& request) {
  if (host.empty()) return true;
  const auto named = parse_authority(host);
  if (named) return *named == request.to;
  const auto with_port = parse_authority(host + ":" + std::to_string(request.to.port));
  return with_port && *with_port == request.to;
}

}  // namespace

std::string_view name(Refused why) {
  static constexpr std::array<std::string_view, kRefusedCount> kNames = {
      "malformed", "credentials", "target",      "address", "bytes",
      "time",      "connections", "unreachable", "paused"};
  return kNames.at(static_cast<std::size_t>(why));
}

unsigned status_of(Refused why) {
  static constexpr std::array<unsigned, kRefusedCount> kStatuses = {400, 407, 403, 403, 403,
                                                                    403, 503, 502, 503};
  return kStatuses.at(static_cast<std::size_t>(why));
}

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, kShownBytesMax));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c >= '\x7f'; }, '?');
  return shown;
}

std::variant<ProxyRequest, RequestRefused> understand(const ProxyHead& head) {
  RequestRefused refused{.what = printable(head.method + " " + head.target)};
  const auto authorization = single(head, "proxy-authorization");
  const auto credentials = authorization ? credentials_of(*authorization) : std::nullopt;
  if (credentials) refused.run = printable(credentials->run);
  const auto host = single(head, "host");
  ProxyRequest request;
  const bool version = head.version == 11 || head.version == 10;
  if (!version || !host || !authorization || !without_body(head) || !read_target(head, request) ||
      !host_agrees(*host, request)) {
    return refused;
  }
  if (!credentials) {
    refused.why = Refused::credentials;
    return refused;
  }
  request.run = credentials->run;
  request.secret = credentials->secret;
  return request;
}

}  // namespace cupel::worker::egress
