/// Versions of modules in the go command's order. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::change {

/// "v1.2.3", "v1.2.3-rc.1", "v2.0.0+incompatible", "v0.0.0-20240102030405-0123456789ab".
struct SemVersion {
  std::string major;  ///< Digits without leading zeros: numbers may be larger than any integer.
  std::string minor;
  std::string patch;
  std::string pre;    ///< Without the dash; empty for a release.
  std::string build;  ///< "incompatible" or empty.
};

/// Nothing for what is no full version in canonical form: "v1.2", "latest", "master",
/// "v1.2.3+dirty".
[[nodiscard]] std::optional<SemVersion> parse_version(std::string_view text);

/// Semantic order; the build part doesn't count. Text that is no version is below all versions.
[[nodiscard]] std::strong_ordering compare_versions(std::string_view a, std::string_view b);

/// Made by the go command for a commit without a tag.
[[nodiscard]] bool is_pseudo_version(std::string_view version);
[[nodiscard]] bool is_pre_release(std::string_view version);

/// What an upgrade from one to the other is. `none`: not upwards.
enum class Step : std::uint8_t { none, patch, minor, major };
[[nodiscard]] Step step_between(std::string_view from, std::string_view to);
[[nodiscard]] std::string_view name(Step step);

/// The path of the next major version: "x/m" and "x/m/v2" give "x/m/v2" and "x/m/v3"; nothing for
/// gopkg.in and for a path that can't have one.
[[nodiscard]] std::optional<std::string> next_major_path(std::string_view module,
                                                         std::string_view version);

/// Go lines in order: "1.21rc2" < "1.21.0", "1.24" < "1.24.0".
[[nodiscard]] std::strong_ordering compare_go_versions(std::string_view a, std::string_view b);

}  // namespace cupel::worker::change
