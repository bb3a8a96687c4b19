#include "worker/core/sumdb/module_name.hpp"

#include "worker/core/change/semver.hpp"

#include <algorithm>

namespace cupel::worker::sumdb {

namespace {

constexpr std::size_t kPathBytesMax = 512;
constexpr std::size_t kVersionBytesMax = 200;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_element(std::string_view element) {
  if (element.empty() || element.front() == '.' || element.back() == '.') return false;
  return std::ranges::all_of(element, [](char c) {
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '-' || c == '.' || c == '_' ||
           c == '~';
  });
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_upper(text[i])) return std::nullopt;
    if (text[i] != '!') {
      plain.push_back(text[i]);
      continue;
    }
    ++i;
    if (i == text.size() || !is_lower(text[i])) return std::nullopt;
    plain.push_back(static_cast<char>(text[i] - 'a' + 'A'));
  }
  return plain;
}

}  // namespace

bool is_module_path(std::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax || path.front() == '-') return false;
  const std::string_view host = path.substr(0, path.find('/'));
  if (host.find('.') == std::string_view::npos) return false;
  for (;;) {
    const std::size_t end = path.find('/');
    if (!is_element(path.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

bool is_canonical_version(std::string_view version) {
  if (version.size() > kVersionBytesMax) return false;
  const auto parsed = change::parse_version(version);
  if (!parsed || (!parsed->build.empty() && parsed->build != "incompatible")) return false;
  return std::ranges::all_of(version, [](char c) {
    return is_upper(c) || is_lower(c) || is_digit(c) || c == '-' || c == '.' || c == '+';
  });
}

std::optional<ModuleVersion> parse_escaped(std::string_view folder, std::string_view version) {
  auto path = unescaped(folder);
  auto plain_version = unescaped(version);
  if (!path || !plain_version || !is_module_path(*path) || !is_canonical_version(*plain_version)) {
    return std::nullopt;
  }
  return ModuleVersion{*std::move(path), *std::move(plain_version)};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_upper(c)) {
      result.push_back('!');
      result.push_back(static_cast<char>(c - 'A' + 'a'));
    } else {
      result.push_back(c);
    }
  }
  return result;
}

std::string file_stem(const ModuleVersion& module) {
  return escaped(module.path) + "/@v/" + escaped(module.version);
}

}  // namespace cupel::worker::sumdb
