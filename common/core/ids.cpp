#include "common/core/ids.hpp"

#include <algorithm>

namespace cupel {
namespace {
constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
}  // namespace

std::string to_base32(std::uint64_t value) {
  std::string text;
  do {
    text.push_back(kDigits[value % 32]);
    value /= 32;
  } while (value != 0);
  std::ranges::reverse(text);
  return text;
}

std::optional<std::uint64_t> from_base32(std::string_view text) {
  if (text.empty() || text.size() > 13) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    if (value > (UINT64_MAX >> 5U)) return std::nullopt;
    value = (value << 5U) | digit;
  }
  return value;
}

}  // namespace cupel
