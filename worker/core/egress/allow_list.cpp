#include "worker/core/egress/allow_list.hpp"

#include "worker/core/egress/credentials.hpp"

#include <algorithm>
#include <charconv>

namespace cupel::worker::egress {

namespace {

constexpr std::size_t kHostBytesMax = 253;

Error bad(Errc code, std::string what) {
  return {.code = code, .what = std::move(what), .detail = {}, .hint = {}};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_name(std::string_view host) {
  if (host.empty() || host.size() > kHostBytesMax || host.front() == '-' || host.front() == '.') {
    return false;
  }
  const bool plain = std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  if (!plain || host.find("..") != std::string_view::npos) return false;
  // What resolvers read as a number is an address that no rule of ours has seen.
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return !last.starts_with("0x") &&
         !std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_host(std::string_view host) {
  return kind_of_address(host) != AddressKind::malformed || is_name(host);
}

std::string shown_host(const HostPort& at) {
  return at.host.find(':') != std::string::npos ? "[" + at.host + "]" : at.host;
}

struct Url {
  HostPort at;
  bool tls = true;
  std::string rest;  ///< Path and what follows.
  std::string authorization;
};

Result<Url> parse_url(std::string_view text) {
  Url url;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
    url.tls = false;
  } else {
    return bad(Errc::bad_config, "an entry of GOPROXY or GOSUMDB is no http or https URL");
  }
  const std::size_t slash = std::min(text.find_first_of("/?#"), text.size());
  std::string authority(text.substr(0, slash));
  url.rest = text.substr(slash);
  if (const auto user = authority.rfind('@'); user != std::string::npos) {
    url.authorization = authorization_of_userinfo(std::string_view(authority).substr(0, user));
    authority.erase(0, user + 1);
  }
  const auto colon = authority.rfind(':');
  if (colon == std::string::npos || authority.find(']', colon) != std::string::npos) {
    authority += url.tls ? ":443" : ":80";
  }
  auto at = parse_authority(authority);
  if (!at) return bad(Errc::bad_config, "'" + authority + "' is no host of a module proxy");
  url.at = std::move(*at);
  return url;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || kind_of_address(host) == AddressKind::loopback;
}

const Target& add(AllowList& list, const Url& url, bool by_operator) {
  const auto known = std::ranges::find(list.targets, url.at, &Target::at);
  if (known != list.targets.end()) return *known;
  Target target{.at = url.at,
                .tls = url.tls,
                .by_operator = by_operator,
                .known_as = url.at,
                .authorization = url.authorization};
  const bool credentials = !url.authorization.empty();
  if (!url.tls || credentials) {
    target.way = Way::fetch;
    if (url.at.port == 443) target.known_as.port = 80;
  }
  if (target.way == Way::fetch && is_loopback(url.at.host)) {
    target.known_as = {"local-" + std::to_string(list.targets.size()) + ".cupel.invalid", 80};
  }
  list.targets.push_back(std::move(target));
  return list.targets.back();
}

/// As the go command of a run gets it.
std::string url_of(const Target& target, const Url& url) {
  if (target.way == Way::tunnel) {
    return "https://" + (url.at.port == 443 ? shown_host(url.at) : url.at.text()) + url.rest;
  }
  const bool plain = target.known_as.port == 80;
  return "http://" + (plain ? shown_host(target.known_as) : target.known_as.text()) + url.rest;
}

}  // namespace

std::string HostPort::text() const {
  return shown_host(*this) + ":" + std::to_string(port);
}

Result<HostPort> parse_authority(std::string_view text) {
  Error malformed = bad(Errc::bad_value, "not host:port");
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed != (host.find(':') != std::string_view::npos)) return malformed;
  if (host.ends_with('.')) host.remove_suffix(1);
  HostPort at;
  std::ranges::transform(host, std::back_inserter(at.host), lower);
  if (!is_host(at.host)) return malformed;
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), at.port);
  const bool number = failure == std::errc() && end == port.data() + port.size();
  if (!number || at.port == 0 || port.front() == '0') return malformed;
  return at;
}

const Target* AllowList::find(const HostPort& wanted) const {
  const auto found = std::ranges::find(targets, wanted, &Target::known_as);
  return found == targets.end() ? nullptr : &*found;
}

Result<ModuleSources> module_sources(const ModuleSettings& settings) {
  ModuleSources sources;
  const std::string_view goproxy = settings.goproxy;
  std::size_t begin = 0;
  while (begin < goproxy.size()) {
    const std::size_t end = std::min(goproxy.find_first_of(",|", begin), goproxy.size());
    auto url = parse_url(goproxy.substr(begin, end - begin));
    if (!url) return url.error();
    if (url->authorization.empty()) {
      url->authorization = authorization_of_netrc(settings.netrc, url->at.host);
    }
    sources.goproxy += url_of(add(sources.allowed, *url, settings.by_operator), *url);
    if (end < goproxy.size()) sources.goproxy += goproxy[end];
    begin = end + 1;
  }
  const std::string_view gosumdb = settings.gosumdb;
  if (gosumdb.empty() || gosumdb == "off") return sources;
  const auto space = gosumdb.rfind(' ');
  const auto url = parse_url(space == std::string_view::npos
                                 ? "https://" + std::string(gosumdb.substr(0, gosumdb.find('+')))
                                 : std::string(gosumdb.substr(space + 1)));
  if (!url) return url.error();
  (void)add(sources.allowed, *url, settings.by_operator);
  return sources;
}

bool may_connect(const Target& target, std::string_view address) {
  switch (kind_of_address(address)) {
    case AddressKind::global:
    case AddressKind::laboratory: return true;  // no host trusts who comes from there
    case AddressKind::private_use: return target.by_operator;
    case AddressKind::loopback: return target.by_operator && is_loopback(target.at.host);
    case AddressKind::reserved:
    case AddressKind::metadata:
    case AddressKind::malformed: return false;
  }
  return false;
}

}  // namespace cupel::worker::egress
