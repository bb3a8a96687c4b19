/// Closed lists of words: the name of an enumerator is the entry at its number.
#pragma once

#include "common/core/outcome.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace cupel::names {

template <std::size_t N>
using List = std::array<std::string_view, N>;

/// A value outside the list (from a cast of foreign bytes) has the empty name.
template <std::size_t N, typename Enum>
[[nodiscard]] constexpr std::string_view at(const List<N>& list, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? list[index] : std::string_view{};
}

template <typename Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> find(const List<N>& list, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (list[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace cupel::names
