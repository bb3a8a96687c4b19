/// Text of the outside world as UTF-8 that every store, wire and terminal takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cupel {

/// Well-formed UTF-8 (no surrogates, no overlong forms) without NUL.
[[nodiscard]] bool is_clean_text(std::string_view text);

/// The text with a replacement character (U+FFFD) for every byte that makes it unclean, cut to
/// `bytes_max` on a character boundary.
[[nodiscard]] std::string clean_text(std::string_view text,
                                     std::size_t bytes_max = std::string::npos);

}  // namespace cupel
