#include "worker/git/policy.hpp"

#include "common/fs/files.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>

namespace cupel::worker {
namespace {

constexpr std::uint64_t kCredentialsBytesMax = 1 << 20;
constexpr std::size_t kUrlBytesMax = 2048;

std::string lowered(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return out;
}

bool is_scheme(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "user@host:port" or "[::1]:port" into its parts; false for what is no authority.
bool split_authority(std::string_view text, GitUrl& url) {
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    url.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = lowered(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    if (text.starts_with(':')) port = text.substr(1);
    if (!text.empty() && port.empty()) return false;
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    url.host = lowered(text.substr(0, colon));
    port = text.substr(colon + 1);
    if (port.empty()) return false;
  } else {
    url.host = lowered(text);
  }
  if (!port.empty() && !is_port(port)) return false;
  url.port = port;
  // "host." is the same host; a name that begins with '-' would be an option of ssh.
  while (url.host.size() > 1 && url.host.back() == '.') url.host.pop_back();
  return url.host.empty() || url.host.front() != '-';
}

SourceRefusal not_allowed(const std::string& what) {
  return refusal(Reason::source_not_allowed, FindingKind::security, "source_not_allowed: " + what);
}

bool is_local_v4(std::uint32_t a) {
  const auto in = [&](std::uint32_t network, unsigned bits) {
    return (a >> (32U - bits)) == (network >> (32U - bits));
  };
  return in(0x00000000, 8) ||   // this network
         in(0x7f000000, 8) ||   // loopback
         in(0xa9fe0000, 16) ||  // link-local, where clouds serve their metadata
         in(0x64400000, 10) ||  // shared by carriers; some clouds' metadata, too
         in(0xe0000000, 3);     // multicast and reserved
}

/// The odd spellings of IPv4 that resolvers accept: "127.1", "0x7f000001", "2130706433",
/// "0177.0.0.1".
bool is_local_legacy_v4(const std::string& host) {
  in_addr address{};
  return ::inet_aton(host.c_str(), &address) != 0 && is_local_v4(ntohl(address.s_addr));
}

bool is_local_name(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "localhost.localdomain" ||
         host == "ip6-localhost" || host == "ip6-loopback" || host == "metadata.google.internal";
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// One line of the credentials file; false when it is malformed.
bool read_credential(std::string_view line, GitCredential& out) {
  std::string_view key;
  if (const auto blank = line.find_first_of(" \t"); blank != std::string_view::npos) {
    key = line.substr(line.find_first_not_of(" \t", blank));
    line = line.substr(0, blank);
    if (!key.starts_with("key=/")) return false;
    out.key_file = key.substr(4);
  }
  const auto url = parse_git_url(line);
  if (!url || (url->scheme != "https" && url->scheme != "ssh" && url->scheme != "http"))
    return false;
  if (url->user.empty() || url->host.empty() || has_control(line)) return false;
  const auto colon = url->user.find(':');
  const auto user = percent_decoded(std::string_view(url->user).substr(0, colon));
  const auto password = colon == std::string::npos
                            ? std::optional<std::string>("")
                            : percent_decoded(std::string_view(url->user).substr(colon + 1));
  if (!user || !password || has_control(*user) || has_control(*password)) return false;
  out.scheme = url->scheme;
  out.host = url->authority();
  out.path = url->path.empty() ? "/" : url->path;
  if (!out.path.ends_with('/')) out.path += '/';
  out.user = *user;
  out.password = *password;
  return url->scheme == "ssh" ? out.password.empty() && !out.key_file.empty()
                              : !out.password.empty() && out.key_file.empty();
}

}  // namespace

std::string GitUrl::authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  const std::string name = v6 ? '[' + host + ']' : host;
  return port.empty() ? name : name + ':' + port;
}

std::string GitUrl::text() const {
  const std::string who = scheme == "ssh" && !user.empty() ? user + '@' : "";
  return scheme + "://" + who + authority() + path;
}

std::optional<GitUrl> parse_git_url(std::string_view text) {
  if (text.empty() || text.size() > kUrlBytesMax || text.front() == '-' || has_control(text)) {
    return std::nullopt;
  }
  GitUrl url;
  if (const auto at = text.find("://"); at != std::string_view::npos) {
    url.scheme = lowered(text.substr(0, at));
    if (url.scheme == "git+ssh" || url.scheme == "ssh+git") url.scheme = "ssh";
    if (!is_scheme(url.scheme)) return std::nullopt;
    const std::string_view rest = text.substr(at + 3);
    const auto slash = std::min(rest.find('/'), rest.size());
    if (!split_authority(rest.substr(0, slash), url)) return std::nullopt;
    url.path = rest.substr(slash);
    if (url.host.empty() && url.scheme != "file") return std::nullopt;
    return url;
  }
  if (text.find("::") != std::string_view::npos) return std::nullopt;
  if (text.front() == '/') {
    url.scheme = "file";
    url.path = text;
    return url;
  }
  // user@host:path
  const auto colon = text.find(':');
  const auto slash = text.find('/');
  if (colon == std::string_view::npos || colon == 0 || slash < colon) return std::nullopt;
  url.scheme = "ssh";
  if (!split_authority(text.substr(0, colon), url)) return std::nullopt;
  url.path = text.substr(colon + 1);
  if (url.path.empty()) return std::nullopt;
  if (url.path.front() != '/') url.path = "/~/" + url.path;
  return url;
}

bool is_local_address(std::string_view address) {
  const std::string text{address.substr(0, address.find('%'))};
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return is_local_v4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
  const auto* bytes = v6.s6_addr;
  const auto low32 = (static_cast<std::uint32_t>(bytes[12]) << 24U) |
                     (static_cast<std::uint32_t>(bytes[13]) << 16U) |
                     (static_cast<std::uint32_t>(bytes[14]) << 8U) | bytes[15];
  const bool zero80 = std::all_of(bytes, bytes + 10, [](std::uint8_t b) { return b == 0; });
  if (zero80 && bytes[10] == 0xff && bytes[11] == 0xff) return is_local_v4(low32);  // ::ffff:0:0/96
  if (zero80 && bytes[10] == 0 && bytes[11] == 0) return true;  // ::, ::1, IPv4-compatible
  const bool nat64 = bytes[0] == 0x00 && bytes[1] == 0x64 && bytes[2] == 0xff && bytes[3] == 0x9b;
  if (nat64) return is_local_v4(low32);
  return (bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80) ||
         bytes[0] == 0xff;  // fe80::/10, multicast
}

bool is_allowed_by_name(const GitUrl& url, const GitPolicy& policy) {
  const std::string text = url.text();
  return std::ranges::any_of(policy.allowed, [&](const std::string& item) {
    if (item.find("://") == std::string::npos) {
      const std::string name = lowered(item);
      return !url.host.empty() && (name == url.authority() || name == url.host);
    }
    // A prefix ends at a component: "https://host/team" allows neither "/team2" nor "host.evil".
    if (!text.starts_with(item) || text.find("/../") != std::string::npos) return false;
    return item.ends_with('/') || text.size() == item.size() || text[item.size()] == '/';
  });
}

std::optional<SourceRefusal> judge_url(std::string_view text, const GitPolicy& policy) {
  const auto parsed = parse_git_url(text);
  if (!parsed)
    return not_allowed("the URL is none that Cupel fetches (https://, ssh://, user@host:path)");
  const GitUrl& url = *parsed;
  if (url.user.find(':') != std::string::npos) {
    return not_allowed("a password stands in the URL; credentials belong into the worker's file");
  }
  if (url.path.find("/../") != std::string::npos || url.path.ends_with("/..")) {
    return not_allowed("'..' in the path of the URL");
  }
  const bool named = is_allowed_by_name(url, policy);
  if (url.scheme == "file") {
    if (policy.allow_local || named) return std::nullopt;
    return not_allowed("file: URLs are not allowed on this worker (sources.allow_local)");
  }
  const bool local =
      is_local_name(url.host) || is_local_address(url.host) || is_local_legacy_v4(url.host);
  const bool known = std::ranges::find(policy.protocols, url.scheme) != policy.protocols.end();
  const bool plain_to_local = url.scheme == "http" && (named || (policy.allow_local && local));
  if (!known && !plain_to_local) {
    return not_allowed("protocol " + url.scheme + " is not allowed on this worker");
  }
  if (local && !policy.allow_local && !named) {
    return not_allowed("host " + url.host + " is local to the worker");
  }
  return std::nullopt;
}

const GitCredential* credential_for(const GitUrl& url, const GitPolicy& policy) {
  const GitCredential* best = nullptr;
  for (const GitCredential& credential : policy.credentials) {
    const bool fits = credential.scheme == url.scheme && credential.host == url.authority() &&
                      (url.path + '/').starts_with(credential.path) &&
                      (url.scheme != "ssh" || url.user.empty() || credential.user == url.user);
    if (fits && (best == nullptr || credential.path.size() > best->path.size())) best = &credential;
  }
  return best;
}

Result<std::vector<GitCredential>> parse_credentials(std::string_view text) {
  std::vector<GitCredential> all;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    GitCredential credential;
    if (!read_credential(line, credential)) {
      return Error{
          Errc::bad_config,
          "git credentials, line " + std::to_string(number) +
              ": expected https://user:password@host/path/ or ssh://user@host/path/ key=/file",
          {},
          {}};
    }
    all.push_back(std::move(credential));
  }
  return all;
}

Result<std::vector<GitCredential>> read_credentials(const std::filesystem::path& file) {
  const auto text = fs::read_secret(file, kCredentialsBytesMax);
  if (!text) return text.error();
  auto parsed = parse_credentials(*text);
  if (!parsed) {
    Error error = parsed.error();
    error.what = file.string() + ": " + error.what;
    return error;
  }
  return parsed;
}

}  // namespace cupel::worker
