#include "worker/core/egress/upstream_proxy.hpp"

#include "worker/core/egress/credentials.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace cupel::worker::egress {

namespace {

std::string first_set(const std::map<std::string, std::string>& environment,
                      std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty()) return found->second;
  }
  return {};
}

std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  std::string entry;
  for (const char c : list + ",") {
    if (c != ',' && c != ' ') {
      entry += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!entry.empty()) {
      entries.push_back(std::exchange(entry, {}));
    }
  }
  return entries;
}

}  // namespace

bool UpstreamProxy::is_for(const std::string& host) const {
  if (host == "localhost" || kind_of_address(host) == AddressKind::loopback) return false;
  return std::ranges::none_of(direct, [&](std::string entry) {
    if (entry == "*" || entry == host) return true;
    if (!entry.starts_with('.')) entry.insert(0, 1, '.');
    return host.ends_with(entry) || entry == "." + host;
  });
}

Result<std::optional<UpstreamProxy>> upstream_proxy(
    const std::map<std::string, std::string>& environment) {
  std::string url =
      first_set(environment, {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"});
  if (url.empty()) return std::optional<UpstreamProxy>();
  if (url.find("://") == std::string::npos) url.insert(0, "http://");
  Error unusable{.code = Errc::bad_config,
                 .what = "HTTPS_PROXY or HTTP_PROXY is no http://[user:password@]host:port",
                 .detail = {},
                 .hint = {}};
  if (!url.starts_with("http://")) return unusable;
  UpstreamProxy proxy;
  std::string authority = url.substr(7);
  authority.erase(std::min(authority.find('/'), authority.size()));
  if (const auto user = authority.rfind('@'); user != std::string::npos) {
    proxy.authorization = authorization_of_userinfo(authority.substr(0, user));
    authority.erase(0, user + 1);
  }
  auto at = parse_authority(authority);
  if (!at) at = parse_authority(authority + ":80");
  if (!at) return unusable;
  proxy.at = std::move(*at);
  proxy.direct = entries_of(first_set(environment, {"NO_PROXY", "no_proxy"}));
  return std::optional(std::move(proxy));
}

}  // namespace cupel::worker::egress
