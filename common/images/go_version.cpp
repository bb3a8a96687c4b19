#include "common/images/go_version.hpp"

#include <charconv>

namespace cupel::images {
namespace {

/// Takes digits off the front; nothing for no digit, a leading zero or a number that is out of
/// range.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || digits == 0 || (digits > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string GoVersion::minor_text() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::optional<GoVersion> GoVersion::parse(std::string_view text) {
  const auto major = take_number(text);
  if (!major || !take(text, ".")) return std::nullopt;
  const auto minor = take_number(text);
  if (!minor) return std::nullopt;
  GoVersion version{.major = *major, .minor = *minor};
  if (text.empty()) return version;
  if (take(text, "beta")) {
    version.stage = Stage::beta;
  } else if (take(text, "rc")) {
    version.stage = Stage::rc;
  } else if (take(text, ".")) {
    version.stage = Stage::release;
  } else {
    return std::nullopt;
  }
  const auto number = take_number(text);
  if (!number || !text.empty()) return std::nullopt;
  version.number = *number;
  return version;
}

}  // namespace cupel::images
