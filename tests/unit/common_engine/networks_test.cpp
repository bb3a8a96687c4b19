#include "common/engine/networks.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::engine {
namespace {

using nlohmann::json;

const InternalNetwork kWanted{.name = "n", .bridge = "cup-1", .labels = {{"cupel.egress", "1"}}};

/// What the engine says of a network that it made from our body.
json made() {
  const json body = json::parse(network_body(kWanted));
  return {{"Id", "abc"},
          {"Name", body["Name"]},
          {"Driver", body["Driver"]},
          {"EnableIPv6", body["EnableIPv6"]},
          {"Internal", body["Internal"]},
          {"IPAM", {{"Config", {{{"Subnet", "172.18.0.0/16"}, {"Gateway", "172.18.0.1"}}}}}},
          {"Containers", {{"c", {{"Name", "x"}}}}},
          {"Options", body["Options"]},
          {"Labels", body["Labels"]}};
}

TEST(Networks, WhatWasAskedForIsRecognised) {
  const auto facts = parse_network(made().dump());
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->is(kWanted));
  EXPECT_EQ(facts->gateway, "172.18.0.1");
  EXPECT_EQ(facts->containers, 1U);
}

TEST(Networks, AnyOtherIsNot) {
  const json changes = {{"Internal", false},        {"EnableIPv6", true},
                        {"Driver", "overlay"},      {"Name", "m"},
                        {"Labels", json::object()}, {"Options", json::object()}};
  for (const auto& [key, value] : changes.items()) {
    json other = made();
    other[key] = value;
    const auto facts = parse_network(other.dump());
    ASSERT_TRUE(facts) << key;
    EXPECT_FALSE(facts->is(kWanted)) << key;
  }
  json talking = made();
  talking["Options"]["com.docker.network.bridge.enable_icc"] = "true";
  EXPECT_FALSE(parse_network(talking.dump())->is(kWanted));
}

TEST(Networks, ABridgeWithoutANamedGatewayHasTheFirstAddressOfItsSubnet) {
  const auto gateway = [](const json& config) {
    json network = made();
    network["IPAM"]["Config"] = config;
    return parse_network(network.dump())->gateway;
  };
  EXPECT_EQ(gateway({{{"Subnet", "172.17.0.0/16"}}}), "172.17.0.1");
  EXPECT_EQ(gateway({{{"Subnet", "fd00::/64"}}, {{"Subnet", "10.1.255.0/24"}}}), "10.1.255.1");
  EXPECT_EQ(gateway({{{"Subnet", "10.9.0.0/24"}}, {{"Gateway", "10.2.0.254/24"}}}), "10.2.0.254");
  for (const char* const bad : {"", "/", "10.0.0/8", "fd00::/64", "10.0.0.0"}) {
    EXPECT_EQ(gateway({{{"Subnet", bad}}}), "") << bad;
  }
}

TEST(Networks, GarbageIsAnError) {
  for (const char* const text : {"", "[]", "{}", "null", R"({"Id":1,"Name":[]})", "{"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
  EXPECT_FALSE(parse_networks("{}"));
  EXPECT_FALSE(parse_networks("[{}]"));
  EXPECT_TRUE(parse_networks("[]"));
}

}  // namespace
}  // namespace cupel::engine
