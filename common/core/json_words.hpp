/// Private to json.cpp and json_text.cpp: the words that stand in JSON for a value of an enum and
/// for an alternative of a variant.
#pragma once

#include "common/core/task.hpp"

#include <array>
#include <concepts>
#include <optional>
#include <string_view>

namespace cupel::json_fields {

inline constexpr std::array<std::string_view, 3> kEndingNames = {"completed", "interrupted",
                                                                 "lost_workspace"};

template <typename Enum>
inline std::string_view word(Enum value) {
  return name(value);
}
inline std::string_view word(Ending value) {
  return kEndingNames.at(static_cast<std::size_t>(value));
}

template <typename Enum>
std::optional<Enum> parse_word(std::string_view text) {
  const auto index_in = [text](const auto& names) -> std::optional<Enum> {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
  };
  if constexpr (std::same_as<Enum, Ending>)
    return index_in(kEndingNames);
  else
    return parse_name<Enum>(text);
}

// The member "type" says which alternative of a variant an object is.
constexpr std::string_view type_name(const GitSource*) {
  return "git";
}
constexpr std::string_view type_name(const BundleSource*) {
  return "bundle";
}
constexpr std::string_view type_name(const ModuleSource*) {
  return "module";
}
constexpr std::string_view type_name(const AcquireSource*) {
  return "acquire_source";
}
constexpr std::string_view type_name(const AcquireModules*) {
  return "acquire_modules";
}
constexpr std::string_view type_name(const Execute*) {
  return "execute";
}
constexpr std::string_view type_name(const NoOp*) {
  return "no_op";
}
constexpr std::string_view type_name(const Mutate*) {
  return "mutate";
}
constexpr std::string_view type_name(const BuildTool*) {
  return "build_tool";
}
constexpr std::string_view type_name(const NoChange*) {
  return "none";
}
constexpr std::string_view type_name(const Upgrade*) {
  return "upgrade";
}
constexpr std::string_view type_name(const GoVersionChange*) {
  return "go";
}
constexpr std::string_view type_name(const Replace*) {
  return "replace";
}
constexpr std::string_view type_name(const ApplyPatch*) {
  return "patch";
}

}  // namespace cupel::json_fields
