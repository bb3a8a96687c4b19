#include "common/engine/networks.hpp"

#include "common/engine/json_members.hpp"

#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <array>

namespace cupel::engine {

namespace {

using Json = nlohmann::json;

constexpr const char* kBridgeName = "com.docker.network.bridge.name";
constexpr const char* kBetween = "com.docker.network.bridge.enable_icc";
constexpr const char* kMasquerade = "com.docker.network.bridge.enable_ip_masquerade";

Error network_protocol_error(std::string_view body) {
  return {.code = Errc::engine_protocol,
          .what = "the engine's answer describes no network",
          .detail = capped_detail(body.substr(0, 512)),
          .hint = {}};
}

/// The first address of an IPv4 subnet "A.B.C.D/N"; empty for anything else.
std::string first_address(const std::string& subnet) {
  in_addr network{};
  const auto slash = subnet.find('/');
  if (slash == std::string::npos ||
      ::inet_pton(AF_INET, subnet.substr(0, slash).c_str(), &network) != 1) {
    return {};
  }
  network.s_addr = htonl(ntohl(network.s_addr) + 1);
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &network, text.data(), text.size()) == nullptr ? "" : text.data();
}

NetworkFacts facts_of(const Json& json) {
  NetworkFacts facts;
  facts.id = text_of(json, "Id");
  facts.name = text_of(json, "Name");
  facts.driver = text_of(json, "Driver");
  facts.internal = flag_of(json, "Internal");
  facts.ipv6 = flag_of(json, "EnableIPv6");
  const Json& options = member(json, "Options");
  facts.bridge = text_of(options, kBridgeName);
  facts.between_containers = text_of(options, kBetween) != "false";
  for (const Json& config : member(member(json, "IPAM"), "Config")) {
    const std::string gateway = text_of(config, "Gateway");
    if (gateway.find('.') != std::string::npos) {
      facts.gateway = gateway.substr(0, gateway.find('/'));
    } else if (gateway.empty() && facts.gateway.empty()) {
      // An engine that has just made its default bridge names none until a container used it.
      facts.gateway = first_address(text_of(config, "Subnet"));
    }
  }
  facts.labels = map_of(json, "Labels");
  const Json& containers = member(json, "Containers");
  if (containers.is_object()) facts.containers = containers.size();
  return facts;
}

}  // namespace

std::string network_body(const InternalNetwork& network) {
  return Json{
      {"Name", network.name},
      {"CheckDuplicate", true},
      {"Driver", "bridge"},
      {"Internal", true},
      {"Attachable", false},
      {"Ingress", false},
      {"EnableIPv6", false},
      {"Options", {{kBridgeName, network.bridge}, {kBetween, "false"}, {kMasquerade, "false"}}},
      {"Labels", network.labels}}
      .dump();
}

bool NetworkFacts::is(const InternalNetwork& network) const {
  return name == network.name && bridge == network.bridge && driver == "bridge" && internal &&
         !ipv6 && !between_containers && labels == network.labels;
}

Result<NetworkFacts> parse_network(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  NetworkFacts facts = facts_of(json);
  if (facts.id.empty() || facts.name.empty()) return network_protocol_error(body);
  return facts;
}

Result<std::vector<NetworkFacts>> parse_networks(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_array()) return network_protocol_error(body);
  std::vector<NetworkFacts> all;
  for (const Json& item : json) {
    all.push_back(facts_of(item));
    if (all.back().id.empty()) return network_protocol_error(body);
  }
  return all;
}

}  // namespace cupel::engine
