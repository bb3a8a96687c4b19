#include "worker/core/scan/semver.hpp"

#include <algorithm>
#include <charconv>

namespace cupel::worker::scan {
namespace {

constexpr std::size_t kVersionBytesMax = 256;

std::optional<std::uint64_t> number(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::optional<std::vector<std::string>> identifiers(std::string_view text) {
  std::vector<std::string> all;
  for (;;) {
    const std::size_t dot = text.find('.');
    const std::string_view one = text.substr(0, dot);
    if (!is_identifier(one)) return std::nullopt;
    all.emplace_back(one);
    if (dot == std::string_view::npos) return all;
    text.remove_prefix(dot + 1);
  }
}

/// Numbers come before words, and are compared as numbers of any length.
std::strong_ordering compare(const std::string& a, const std::string& b) {
  const auto numeric = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool a_number = numeric(a);
  const bool b_number = numeric(b);
  if (a_number != b_number) {
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

std::optional<Semver> Semver::parse(std::string_view text) {
  if (text.size() > kVersionBytesMax) return std::nullopt;
  if (text.starts_with('v')) text.remove_prefix(1);
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    if (!identifiers(text.substr(plus + 1))) return std::nullopt;
    text = text.substr(0, plus);
  }
  Semver version;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    auto words = identifiers(text.substr(dash + 1));
    if (!words) return std::nullopt;
    version.prerelease = *std::move(words);
    text = text.substr(0, dash);
  }
  std::size_t count = 0;
  for (;;) {
    const std::size_t dot = text.find('.');
    const auto value = number(text.substr(0, dot));
    if (!value || count == version.numbers.size()) return std::nullopt;
    version.numbers.at(count++) = *value;
    if (dot == std::string_view::npos) return version;
    text.remove_prefix(dot + 1);
  }
}

std::strong_ordering operator<=>(const Semver& a, const Semver& b) {
  if (const auto order = a.numbers <=> b.numbers; order != 0) return order;
  // A release comes after its own candidates.
  if (a.prerelease.empty() || b.prerelease.empty()) {
    return a.prerelease.empty() <=> b.prerelease.empty();
  }
  const std::size_t shared = std::min(a.prerelease.size(), b.prerelease.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (const auto order = compare(a.prerelease[i], b.prerelease[i]); order != 0) return order;
  }
  return a.prerelease.size() <=> b.prerelease.size();
}

}  // namespace cupel::worker::scan
