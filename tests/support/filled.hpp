/// Values in which every member differs from its default, and a comparison of every member: a codec
/// that forgets one, also one that was added later, fails its round trip.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/outcome.hpp"
#include "common/core/task.hpp"

#include <boost/pfr.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace cupel::tests {

template <typename Enum>
std::size_t words_of() {
  if constexpr (std::same_as<Enum, Ending>)
    return 3;
  else
    return count_of<Enum>();
}

/// `seed` moves on, so that no two members are alike.
template <typename T>
void fill(T& value, std::uint64_t& seed);

template <typename T>
void fill(std::vector<T>& value, std::uint64_t& seed) {
  value.clear();
  for (int i = 0; i < 2; ++i) fill(value.emplace_back(), seed);
}

template <typename T>
void fill(std::optional<T>& value, std::uint64_t& seed) {
  fill(value.emplace(), seed);
}

template <typename... T>
void fill(std::variant<T...>& value, std::uint64_t& seed) {
  const std::size_t wanted = ++seed % sizeof...(T);
  std::size_t at = 0;
  static_cast<void>(((at++ == wanted && (fill(value.template emplace<T>(), seed), true)) || ...));
}

template <typename T>
void fill(T& value, std::uint64_t& seed) {
  ++seed;
  if constexpr (std::same_as<T, std::string>) {
    value = "text-\u00e9-" + std::to_string(seed);
  } else if constexpr (std::same_as<T, Errc>) {
    value = error_registry()[seed % error_registry().size()].code;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(1 + seed % (words_of<T>() - 1));
  } else if constexpr (std::same_as<T, bool>) {
    value = !T{value};
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = static_cast<T>(1000 + seed);
  } else if constexpr (std::same_as<T, Digest>) {
    value = sha256(std::to_string(seed));
  } else {
    boost::pfr::for_each_field(value, [&seed](auto& field) { fill(field, seed); });
  }
}

template <typename T>
bool same(const T& a, const T& b);

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

template <typename T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

template <typename... T>
bool same(const std::variant<T...>& a, const std::variant<T...>& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& left) {
        return same(left, std::get<std::remove_cvref_t<decltype(left)>>(b));
      },
      a);
}

template <typename T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string> ||
                std::same_as<T, Digest>) {
    return a == b;
  } else {
    const auto left = boost::pfr::structure_tie(a);
    const auto right = boost::pfr::structure_tie(b);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (same(std::get<I>(left), std::get<I>(right)) && ...);
    }(std::make_index_sequence<boost::pfr::tuple_size_v<T>>());
  }
}

template <typename T>
T filled() {
  T value;
  std::uint64_t seed = 0;
  fill(value, seed);
  return value;
}

/// One filled value of every alternative of a variant.
template <typename... T>
std::vector<std::variant<T...>> filled_alternatives(const std::variant<T...>&) {
  std::vector<std::variant<T...>> all;
  std::uint64_t seed = 0;
  const auto add = [&]<typename One>(One one) {
    fill(one, seed);
    all.emplace_back(std::move(one));
  };
  (add(T{}), ...);
  return all;
}

}  // namespace cupel::tests
