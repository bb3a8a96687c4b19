#include "common/campaign/schema.hpp"

#include "common/campaign/grammar.hpp"

#include <nlohmann/json.hpp>

namespace cupel::campaign {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSizePattern = "^[0-9]+(\\.[0-9]+)?(B|KiB|MiB|GiB|TiB)?$";
constexpr const char* kDurationPattern =
    "^(0|([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$";

ordered_json schema_of(const Key& key);

ordered_json object_schema(const Key& key) {
  ordered_json out = {{"type", "object"}, {"additionalProperties", false}};
  ordered_json properties = ordered_json::object();
  ordered_json required = ordered_json::array();
  for (const Key& child : key.children) {
    if (child.json_only) continue;
    properties[child.name] = schema_of(child);
    if (child.required) required.push_back(child.name);
  }
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

ordered_json item_schema(const Key& key) {
  ordered_json out = {{"type", "string"}};
  if (!key.choices.empty()) out["enum"] = key.choices;
  return out;
}

ordered_json later_schema(const Key& key) {
  ordered_json allowed = {nullptr, "", ordered_json::array(), ordered_json::object()};
  if (key.fallback == "true") allowed.push_back(true);
  if (key.fallback == "0") allowed.push_back(0);
  if (!key.fallback.empty()) allowed.push_back(key.fallback);
  return {{"description",
           key.sentence + " Not supported by this version: only its default is accepted."},
          {"enum", std::move(allowed)}};
}

void add_bounds(ordered_json& out, const Key& key, std::int64_t divisor) {
  if (divisor == 1) {
    out["minimum"] = key.min;
    out["maximum"] = key.max;
  } else {
    out["minimum"] = static_cast<double>(key.min) / static_cast<double>(divisor);
    out["maximum"] = static_cast<double>(key.max) / static_cast<double>(divisor);
  }
}

ordered_json shape_schema(const Key& key) {
  ordered_json out;
  switch (key.shape) {
    case Shape::text:
    case Shape::version: return item_schema(key);
    case Shape::integer:
      out["type"] = "integer";
      add_bounds(out, key, 1);
      return out;
    case Shape::fraction:
      out["type"] = "number";
      add_bounds(out, key, 1000);
      return out;
    case Shape::flag: return {{"type", "boolean"}};
    case Shape::size: return {{"type", {"string", "integer"}}, {"pattern", kSizePattern}};
    case Shape::duration: return {{"type", {"string", "integer"}}, {"pattern", kDurationPattern}};
    case Shape::words: out = {{"type", "array"}, {"items", item_schema(key)}}; break;
    case Shape::sections: out = {{"type", "array"}, {"items", object_schema(key)}}; break;
    case Shape::text_map:
      out = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
      if (key.items_max != 0) out["maxProperties"] = key.items_max;
      return out;
    case Shape::section:
      if (!key.short_flag.empty()) {
        return {{"anyOf", {schema_of(*key.find(key.short_flag)), object_schema(key)}}};
      }
      if (key.short_list.empty()) return object_schema(key);
      return {{"anyOf", {schema_of(*key.find(key.short_list)), object_schema(key)}}};
  }
  if (key.items_max != 0) out["maxItems"] = key.items_max;
  return out;
}

ordered_json schema_of(const Key& key) {
  if (!key.honoured) return later_schema(key);
  ordered_json out = shape_schema(key);
  out["description"] =
      key.sentence + (key.fallback.empty() ? "" : " Default: " + key.fallback + ".");
  return out;
}

}  // namespace

std::string json_schema() {
  ordered_json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "Cupel campaign"}};
  root.update(schema_of(grammar()));
  return root.dump(2) + "\n";
}

}  // namespace cupel::campaign
