/// A value as text, one member a line, for recorded content.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/task.hpp"

#include <boost/pfr.hpp>

#include <algorithm>
#include <concepts>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace cupel::tests {

template <typename T>
void show(const T& value, std::string& out);

template <typename T>
void show(const std::vector<T>& value, std::string& out) {
  for (const T& item : value) show(item, out);
}
template <typename T>
void show(const std::optional<T>& value, std::string& out) {
  if (value) show(*value, out);
}
template <typename... T>
void show(const std::variant<T...>& value, std::string& out) {
  std::visit([&out](const auto& alternative) { show(alternative, out); }, value);
}

template <typename T>
void show(const T& value, std::string& out) {
  if constexpr (std::same_as<T, std::string>) {
    out += value + "\n";
  } else if constexpr (std::same_as<T, bool>) {
    out += value ? "true\n" : "false\n";
  } else if constexpr (std::same_as<T, Digest>) {
    out += value.hex() + "\n";
  } else if constexpr (std::same_as<T, Errc>) {
    out += error_tag(value) + "\n";
  } else if constexpr (std::same_as<T, Ending> || std::same_as<T, BuildCache>) {
    out += std::to_string(static_cast<int>(value)) + "\n";
  } else if constexpr (std::is_enum_v<T>) {
    out += std::string(name(value)) + "\n";
  } else if constexpr (std::is_arithmetic_v<T>) {
    out += std::to_string(value) + "\n";
  } else {
    boost::pfr::for_each_field(value, [&out](const auto& field) { show(field, out); });
  }
}

template <typename T>
std::string shown(const T& value) {
  std::string out;
  show(value, out);
  return out;
}

/// Without the lines that a member which didn't exist at the time of recording would add, and in an
/// order that doesn't depend on where a member stands.
inline std::string without_defaults(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    // The last ones: the first words of lists that members of a later version have.
    if (line.find_first_not_of("0") != line.npos && line != "false" && line != "none" &&
        line != "before" && line != "exit_code") {
      lines.push_back(line);
    }
  }
  std::ranges::sort(lines);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace cupel::tests
