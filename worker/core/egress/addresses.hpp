/// What kind of network an address belongs to. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace cupel::worker::egress {

/// From the special-purpose registries for IPv4 and IPv6, and the well-known addresses at which
/// clouds serve credentials to whoever asks.
enum class AddressKind : std::uint8_t {
  global,
  private_use,  ///< 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7
  laboratory,   ///< Kept for documentation and benchmarks; transparent proxies and test networks
                ///< answer there.
  loopback,
  metadata,  ///< Link-local, and the metadata services that are not.
  reserved,  ///< Unspecified, multicast, broadcast, translated; nobody's server.
  malformed,
};

/// `text`: a numeric IPv4 or IPv6 address. An IPv4 address inside an IPv6 one counts as itself.
[[nodiscard]] AddressKind kind_of_address(std::string_view text);

}  // namespace cupel::worker::egress
