/// Versions of Go as go.mod and toolchains write them: "1.21", "1.21rc2", "1.26.8".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::images {

/// Ordered as the go command orders them: 1.21 < 1.21beta1 < 1.21rc2 < 1.21.0 < 1.21.1.
struct GoVersion {
  enum class Stage : std::uint8_t { language, beta, rc, release };

  std::uint32_t major = 1;
  std::uint32_t minor = 0;
  Stage stage = Stage::language;
  std::uint32_t number = 0;  ///< Patch of a release, number of a beta or release candidate.

  friend auto operator<=>(const GoVersion&, const GoVersion&) = default;

  /// "1.26", whatever stage and patch are.
  [[nodiscard]] std::string minor_text() const;
  /// Nothing for text that is no version of Go. A suffix after '-', '+' or a blank is not accepted.
  [[nodiscard]] static std::optional<GoVersion> parse(std::string_view text);
};

/// What a module without a go line counts as.
inline constexpr GoVersion kNoGoLine{.major = 1, .minor = 16};

}  // namespace cupel::images
