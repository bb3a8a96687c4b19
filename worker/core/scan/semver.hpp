/// Versions of modules in their order, as far as advisories need it. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::scan {

/// "v1.2.3-rc.1+meta"; the metadata counts for nothing.
struct Semver {
  std::array<std::uint64_t, 3> numbers{};
  std::vector<std::string> prerelease;

  /// With or without the "v" in front; numbers that are missing at the end are 0.
  [[nodiscard]] static std::optional<Semver> parse(std::string_view text);
  friend std::strong_ordering operator<=>(const Semver& a, const Semver& b);
  friend bool operator==(const Semver& a, const Semver& b) { return (a <=> b) == 0; }
};

}  // namespace cupel::worker::scan
