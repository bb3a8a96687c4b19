#include "worker/core/egress/addresses.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cupel::worker::egress {
namespace {

using enum AddressKind;

TEST(EgressAddresses, EachKindInBothFamilies) {
  const struct {
    const char* text;
    AddressKind kind;
  } cases[] = {
      {"8.8.8.8", global},
      {"172.32.0.1", global},
      {"2001:4860::1", global},
      {"::ffff:8.8.8.8", global},
      {"10.0.0.1", private_use},
      {"172.16.0.1", private_use},
      {"172.31.255.255", private_use},
      {"192.168.1.1", private_use},
      {"100.64.0.1", private_use},
      {"fc00::1", private_use},
      {"fd12::1", private_use},
      {"::ffff:10.1.1.1", private_use},
      {"127.0.0.1", loopback},
      {"127.255.255.254", loopback},
      {"::1", loopback},
      {"::ffff:127.0.0.1", loopback},
      {"169.254.169.254", metadata},
      {"::ffff:169.254.169.254", metadata},
      {"fe80::1", metadata},
      {"fd00:ec2::254", metadata},
      {"100.100.100.200", metadata},
      {"168.63.129.16", metadata},
      {"0.0.0.0", reserved},
      {"0.1.2.3", reserved},
      {"::", reserved},
      {"224.0.0.1", reserved},
      {"255.255.255.255", reserved},
      {"240.0.0.1", reserved},
      {"ff02::1", reserved},
      {"192.0.2.1", laboratory},
      {"198.51.100.7", laboratory},
      {"203.0.113.80", laboratory},
      {"198.18.0.1", laboratory},
      {"64:ff9b::7f00:1", reserved},
      {"2002:7f00:1::", reserved},
      {"2001:db8::1", laboratory},
      {"", malformed},
      {"example.com", malformed},
      {"127.1", malformed},
      {"2130706433", malformed},
      {"0x7f.0.0.1", malformed},
      {"fe80::1%eth0", malformed},
      {"1.2.3.4 ", malformed},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(kind_of_address(text), kind) << text;
}

TEST(EgressAddresses, AZeroByteEndsNothing) {
  EXPECT_EQ(kind_of_address(std::string("127.0.0.1\0.example", 18)), malformed);
}

}  // namespace
}  // namespace cupel::worker::egress
