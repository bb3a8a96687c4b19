/// Members of the engine's JSON. Every one is optional by type: an engine of another make leaves
/// some out, and a wrong type must not become an exception.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace cupel::engine {

/// Null where it isn't there.
inline const nlohmann::json& member(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNothing;
  if (!json.is_object()) return kNothing;
  const auto it = json.find(key);
  return it == json.end() ? kNothing : *it;
}

inline std::string text_of(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = member(json, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

inline bool flag_of(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = member(json, key);
  return value.is_boolean() && value.get<bool>();
}

inline std::map<std::string, std::string> map_of(const nlohmann::json& json, const char* key) {
  std::map<std::string, std::string> all;
  const nlohmann::json& object = member(json, key);
  if (!object.is_object()) return all;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string()) all.emplace(name, value.get<std::string>());
  }
  return all;
}

}  // namespace cupel::engine
