/// How the parts of the grammar write their keys down.
#pragma once

#include "common/campaign/grammar.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cupel::campaign::keys {

inline constexpr std::int64_t kMinute = 60;
inline constexpr std::int64_t kHour = 60 * kMinute;
inline constexpr std::int64_t kDay = 24 * kHour;
inline constexpr std::int64_t kMiB = 1 << 20;
inline constexpr std::int64_t kGiB = 1 << 30;

[[nodiscard]] inline Key flag(std::string name, std::string sentence, std::string fallback) {
  return {.name = std::move(name),
          .shape = Shape::flag,
          .sentence = std::move(sentence),
          .fallback = std::move(fallback)};
}

[[nodiscard]] inline Key bounded(std::string name, Shape shape, std::string sentence,
                                 std::string fallback, std::int64_t min, std::int64_t max) {
  return {.name = std::move(name),
          .shape = shape,
          .sentence = std::move(sentence),
          .fallback = std::move(fallback),
          .min = min,
          .max = max};
}

[[nodiscard]] inline Key words(std::string name, std::string sentence, Rule rule,
                               std::size_t items_max) {
  return {.name = std::move(name),
          .shape = Shape::words,
          .sentence = std::move(sentence),
          .rule = rule,
          .items_max = items_max};
}

[[nodiscard]] inline Key section(std::string name, std::string sentence,
                                 std::vector<Key> children) {
  return {.name = std::move(name),
          .shape = Shape::section,
          .sentence = std::move(sentence),
          .children = std::move(children)};
}

[[nodiscard]] inline Key text(std::string name, std::string sentence, Rule rule,
                              std::string fallback = "") {
  return {.name = std::move(name),
          .sentence = std::move(sentence),
          .fallback = std::move(fallback),
          .rule = rule};
}

[[nodiscard]] inline Key required(Key key) {
  key.required = true;
  return key;
}

[[nodiscard]] inline Key json_only(Key key) {
  key.json_only = true;
  return key;
}

[[nodiscard]] inline Key choice(std::string name, std::string sentence, std::string fallback,
                                std::vector<std::string> choices) {
  return {.name = std::move(name),
          .sentence = std::move(sentence),
          .fallback = std::move(fallback),
          .choices = std::move(choices)};
}

[[nodiscard]] inline Key count(std::string name, std::string sentence, std::string fallback,
                               std::int64_t min, std::int64_t max) {
  return {.name = std::move(name),
          .shape = Shape::integer,
          .sentence = std::move(sentence),
          .fallback = std::move(fallback),
          .min = min,
          .max = max};
}

}  // namespace cupel::campaign::keys
