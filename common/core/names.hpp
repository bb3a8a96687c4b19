/// Closed lists of words: the name of an enumerator is the entry at its number.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace cupel::names {

template <std::size_t N>
using List = std::array<std::string_view, N>;

/// Counts the words, so that none can be left empty.
template <typename... Words>
[[nodiscard]] constexpr List<sizeof...(Words)> list(const Words&... words) {
  return {std::string_view(words)...};
}

/// A value outside the list (from a cast of foreign bytes) is "unknown".
template <std::size_t N, typename Enum>
[[nodiscard]] constexpr std::string_view at(const List<N>& list, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? list[index] : std::string_view("unknown");
}

template <typename Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> find(const List<N>& list, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (list[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace cupel::names
