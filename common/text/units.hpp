/// Numbers, sizes and times as people write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::text {

/// Decimal digits with an optional minus; nothing else, no overflow.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
/// Decimal fraction such as "0.05" or "2"; no exponent, no sign.
[[nodiscard]] std::optional<double> parse_fraction(std::string_view text);
/// "4MiB", "1.5GiB", "512KiB", "100B" or a plain number of bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
/// "10m", "1h30m", "90s", "500ms", "2d", "0": units in falling order, each once.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The shortest exact form: "4MiB", "1000B".
[[nodiscard]] std::string format_size(std::uint64_t bytes);
/// "1h30m", "90s" as "1m30s", "500ms", "0s".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);
/// For people, rounded: "2m40s", "14.2s", "1h18m".
[[nodiscard]] std::string format_seconds(double seconds);

}  // namespace cupel::text
