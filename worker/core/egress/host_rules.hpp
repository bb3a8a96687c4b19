/// The host's packet filter, as arguments of iptables: from the bridge of the egress network only
/// the proxy's port can be reached. Pure.
///
/// The rules stand in table raw, chain PREROUTING: before connection tracking, routing and every
/// filter of somebody else, so that neither an "accept" there nor the order of chains opens a way,
/// for the host's own addresses, for other networks, and (with br_netfilter) for frames between two
/// containers of the bridge. What comes from the bridge is all that they ever match.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::worker::egress {

/// The engine's bridge and the proxy on it.
struct Bridge {
  std::string name;     ///< Of the interface; at most 15 bytes.
  std::string gateway;  ///< Its IPv4 address, where the proxy listens.
  std::uint16_t port = 0;
};

/// "cup-" and ten characters that depend on the worker alone.
[[nodiscard]] std::string bridge_name(std::uint64_t worker);

struct RuleStep {
  std::vector<std::string> arguments;  ///< Of iptables or ip6tables, without "-w".
  bool may_fail = false;               ///< It fails where its work is done already.
  /// Only where these arguments fail: a check, so that nothing is added twice.
  std::vector<std::string> unless = {};
};

/// Idempotent; never open in between.
[[nodiscard]] std::vector<RuleStep> rules_v4(const Bridge& bridge);
[[nodiscard]] std::vector<RuleStep> rules_v6(const Bridge& bridge);
/// Each must succeed while the rules hold.
[[nodiscard]] std::vector<std::vector<std::string>> checks_v4(const Bridge& bridge);
/// Removes what rules_v4 or rules_v6 made, whatever the port was.
[[nodiscard]] std::vector<RuleStep> removal(const std::string& bridge);

}  // namespace cupel::worker::egress
