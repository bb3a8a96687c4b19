/// UTF-8 as bytes: is it valid, how wide is it, how is it cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::text {

/// Offset of the first byte that is not valid UTF-8 (overlong forms and surrogates included).
[[nodiscard]] std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

/// Invalid bytes become U+FFFD, control characters but line feed and tab are left out.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Number of code points: what a terminal shows, near enough for tables.
[[nodiscard]] std::size_t width(std::string_view utf8);

/// At most `columns` code points; what is cut is replaced by "…" as the last one.
[[nodiscard]] std::string shortened(std::string_view utf8, std::size_t columns);

/// At most `bytes_max` bytes, cut before a code point that doesn't fit.
[[nodiscard]] std::string_view cut_to_bytes(std::string_view utf8, std::size_t bytes_max);

}  // namespace cupel::text
