/// Where a run may connect to: derived from the module proxy and the checksum database that the
/// worker is configured with, never from a repository. Pure.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/egress/addresses.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::egress {

/// Lower case, without brackets and without a dot at its end, so that equal means the same.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
  /// "host:port", "[::1]:port".
  [[nodiscard]] std::string text() const;
};

/// "host:port" or "[v6]:port", and nothing else: no user, no path, no white space, no name that is
/// a number in disguise (0x7f.1, 2130706433). Errors: bad_value.
[[nodiscard]] Result<HostPort> parse_authority(std::string_view text);

/// How a run gets to a target.
enum class Way : std::uint8_t {
  tunnel,  ///< CONNECT: TLS from end to end, the proxy sees bytes.
  fetch,  ///< GET of an http URL: the proxy asks the target itself, by TLS where the target has it.
};

struct Target {
  HostPort at;
  bool tls = true;
  /// An operator wrote it, so that its name may stand for a private address. The default of a
  /// toolchain may not: there such an answer is a name server that lies.
  bool by_operator = false;
  Way way = Way::tunnel;
  HostPort known_as = {};  ///< What a run asks for; `at` unless it is fetched under another name.
  /// Value of the Authorization header of what is fetched; never shown to a run.
  std::string authorization = {};
  friend bool operator==(const Target&, const Target&) = default;
};

struct AllowList {
  std::vector<Target> targets;
  [[nodiscard]] const Target* find(const HostPort& wanted) const;
};

/// A run's way out: the list, and the GOPROXY with which the go command keeps to it.
struct ModuleSources {
  AllowList allowed;
  std::string goproxy;
};

/// What the worker is configured with.
struct ModuleSettings {
  std::string goproxy;       ///< As proxies_only() leaves it: "https://a/x,http://b|https://c".
  std::string gosumdb;       ///< "name", "name+key" or "name[+key] URL"; empty or "off": none.
  bool by_operator = false;  ///< Configured, or of the environment; not a toolchain's default.
  std::string netrc = {};    ///< Credentials for hosts of goproxy; the text of the file.
};

/// A proxy by http, or with credentials (in its URL, or in the netrc), is fetched; the others are
/// tunnelled. One on loopback gets a name of ours, since the go command never asks a proxy for
/// loopback. No credentials are in the goproxy that comes back. Errors: bad_config for an entry
/// that is no http or https URL.
[[nodiscard]] Result<ModuleSources> module_sources(const ModuleSettings& settings);

/// May the proxy connect there, now that the target's name stands for this address?
/// Loopback only for a target that is loopback by its own words; metadata, reserved: never.
[[nodiscard]] bool may_connect(const Target& target, std::string_view address);

}  // namespace cupel::worker::egress
