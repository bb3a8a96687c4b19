#include "worker/core/egress/addresses.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <span>
#include <string>

namespace cupel::worker::egress {

namespace {

using Bytes = std::span<const std::uint8_t>;

struct Range {
  std::array<std::uint8_t, 16> prefix;
  unsigned bits;
  AddressKind kind;
};

using enum AddressKind;

// The first that fits counts.
constexpr std::array kV4 = {
    Range{{169, 254}, 16, metadata},
    Range{{168, 63, 129, 16}, 32, metadata},
    Range{{100, 100, 100, 200}, 32, metadata},
    Range{{127}, 8, loopback},
    Range{{10}, 8, private_use},
    Range{{172, 16}, 12, private_use},
    Range{{192, 168}, 16, private_use},
    Range{{100, 64}, 10, private_use},
    Range{{0}, 8, reserved},
    Range{{192, 0, 0}, 24, reserved},
    Range{{192, 0, 2}, 24, laboratory},
    Range{{198, 18}, 15, laboratory},
    Range{{198, 51, 100}, 24, laboratory},
    Range{{203, 0, 113}, 24, laboratory},
    Range{{224}, 3, reserved},
};

constexpr std::array kV6 = {
    Range{{0xfd, 0x00, 0x0e, 0xc2}, 32, metadata},
    Range{{0xfe, 0x80}, 10, metadata},
    Range{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, loopback},
    Range{{0xfc}, 7, private_use},
    Range{{0xff}, 8, reserved},
    Range{{0x00}, 8, reserved},  // unspecified, and the translated ones of 64:ff9b::/96
    Range{{0x20, 0x01, 0x0d, 0xb8}, 32, laboratory},
    Range{{0x20, 0x01, 0x00}, 23, reserved},
    Range{{0x20, 0x02}, 16, reserved},
    Range{{0xfe, 0xc0}, 10, reserved},
};

bool within(Bytes address, const Range& range) {
  unsigned left = range.bits;
  for (std::size_t i = 0; left > 0; ++i) {
    const unsigned bits = std::min(left, 8U);
    const unsigned mask = 0xFFU << (8U - bits) & 0xFFU;
    if (((address[i] ^ range.prefix.at(i)) & mask) != 0) return false;
    left -= bits;
  }
  return true;
}

template <std::size_t N>
AddressKind first_of(Bytes address, const std::array<Range, N>& ranges) {
  const auto found =
      std::ranges::find_if(ranges, [&](const Range& range) { return within(address, range); });
  return found == ranges.end() ? global : found->kind;
}

}  // namespace

AddressKind kind_of_address(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  const std::string address(text);
  if (address.find('\0') != std::string::npos) return malformed;
  if (::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    return first_of(Bytes(bytes).first(4), kV4);
  }
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return malformed;
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0,    0,
                                                           0, 0, 0, 0, 0xff, 0xff};
  if (std::ranges::equal(Bytes(bytes).first(12), kMapped)) {
    return first_of(Bytes(bytes).last(4), kV4);
  }
  return first_of(Bytes(bytes), kV6);
}

}  // namespace cupel::worker::egress
