/// Networks of the engine: what is asked for and what is said of them. Pure.
#pragma once

#include "common/core/error.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::engine {

/// A bridge whose containers reach its gateway address and nothing else by themselves: internal, no
/// IPv6, no traffic between containers.
struct InternalNetwork {
  std::string name;
  std::string bridge;  ///< Name of the host's interface; at most 15 bytes.
  std::map<std::string, std::string> labels = {};
};
[[nodiscard]] std::string network_body(const InternalNetwork& network);

struct NetworkFacts {
  std::string id;
  std::string name;
  std::string driver;
  std::string bridge;   ///< Of the bridge driver's option; empty: the engine chose.
  std::string gateway;  ///< IPv4, without a prefix length; where none is named, the subnet's first.
  bool internal = false;
  bool ipv6 = false;
  bool between_containers = true;  ///< Option enable_icc.
  std::map<std::string, std::string> labels;
  std::size_t containers = 0;  ///< Running and attached; a list doesn't say.

  /// It is what network_body() of this would have made.
  [[nodiscard]] bool is(const InternalNetwork& network) const;
};

/// Errors of both: engine_protocol.
[[nodiscard]] Result<NetworkFacts> parse_network(std::string_view body);
[[nodiscard]] Result<std::vector<NetworkFacts>> parse_networks(std::string_view body);

}  // namespace cupel::engine
