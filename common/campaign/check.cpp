#include "common/campaign/parse_context.hpp"
#include "common/text/units.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace cupel::campaign {
namespace {

using text::Node;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string bound_text(const Key& key, std::int64_t value) {
  switch (key.shape) {
    case Shape::size: return text::format_size(static_cast<std::uint64_t>(value));
    case Shape::duration: return text::format_duration(std::chrono::seconds(value));
    case Shape::fraction: {
      std::string out = std::to_string(value / 1000);
      if (value % 1000 != 0) out += "." + std::to_string(1000 + value % 1000).substr(1);
      return out;
    }
    default: return std::to_string(value);
  }
}

/// The value of a bounded scalar in the unit of its bounds.
std::optional<std::int64_t> bounded_value(const Key& key, const std::string& text) {
  switch (key.shape) {
    case Shape::integer: return text::parse_integer(text);
    case Shape::size: {
      const auto bytes = text::parse_size(text);
      if (!bytes) return std::nullopt;
      return static_cast<std::int64_t>(*bytes);
    }
    case Shape::duration: {
      const auto time = text::parse_duration(text);
      if (!time || time->count() % 1'000'000'000 != 0) return std::nullopt;
      return time->count() / 1'000'000'000;
    }
    case Shape::fraction: {
      const auto value = text::parse_fraction(text);
      const std::size_t point = text.find('.');
      if (!value || *value > 1e12 || (point != std::string::npos && text.size() - point > 4))
        return std::nullopt;
      return std::llround(*value * 1000);
    }
    default: return std::nullopt;
  }
}

std::string_view shape_name(Shape shape) {
  switch (shape) {
    case Shape::integer: return "a whole number";
    case Shape::fraction: return "a number with at most three decimal places";
    case Shape::size: return "a size such as 512MiB";
    case Shape::duration: return "a duration such as 90s or 1h30m";
    default: return "text";
  }
}

bool looks_like_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789._") == std::string::npos;
}

void check_word(Context& context, const Node& node, const Key& key, const std::string& path) {
  if (!node.is_scalar()) {
    context.add(node, Errc::bad_value, at_path(path, "must be text"));
    return;
  }
  if (!key.choices.empty()) {
    if (std::ranges::find(key.choices, node.scalar) != key.choices.end()) return;
    const std::string near = text::nearest_word(node.scalar, key.choices);
    context.add(
        node, Errc::bad_value,
        at_path(path, "\"" + node.scalar.substr(0, 80) + "\" is none of " + joined(key.choices)),
        near.empty() ? "" : "did you mean \"" + near + "\"?");
    return;
  }
  if (key.rule == nullptr) return;
  if (const std::string wrong = key.rule(node.scalar); !wrong.empty()) {
    context.add(node, Errc::bad_value, at_path(path, wrong));
  }
}

void check_scalar(Context& context, const Node& node, const Key& key, const std::string& path) {
  if (!node.is_scalar()) {
    const std::string what =
        key.shape == Shape::flag ? "true or false" : std::string(shape_name(key.shape));
    context.add(node, Errc::bad_value,
                at_path(path, "must be " + what + ", not a list or a mapping"));
    return;
  }
  switch (key.shape) {
    case Shape::version:
      if (!node.quoted && looks_like_number(node.scalar)) {
        context.add(
            node, Errc::unquoted_version,
            at_path(path, node.scalar +
                              " is a bare number, which YAML programs change (1.20 becomes 1.2)"),
            "write \"" + node.scalar + "\" in quotes");
        return;
      }
      [[fallthrough]];
    case Shape::text:
      if (node.scalar.empty() && !key.required) return;
      return check_word(context, node, key, path);
    case Shape::flag:
      if (node.scalar == "true" || node.scalar == "false") return;
      context.add(node, Errc::bad_value,
                  at_path(path, "\"" + node.scalar.substr(0, 80) + "\" is neither true nor false"));
      return;
    default: break;
  }
  const auto value = bounded_value(key, node.scalar);
  if (!value) {
    context.add(node, Errc::bad_value,
                at_path(path, "\"" + node.scalar.substr(0, 80) + "\" is not " +
                                  std::string(shape_name(key.shape))));
  } else if (*value < key.min || *value > key.max) {
    context.add(node, Errc::bad_value,
                at_path(path, node.scalar + " is not between " + bound_text(key, key.min) +
                                  " and " + bound_text(key, key.max)));
  }
}

bool check_kind(Context& context, const Node& node, Node::Kind kind, const std::string& path) {
  if (node.kind == kind) return true;
  context.add(node, Errc::bad_value,
              at_path(path, kind == Node::Kind::list ? "must be a list" : "must be a mapping"));
  return false;
}

void check_count(Context& context, const Node& node, const Key& key, std::size_t count,
                 const std::string& path) {
  if (key.items_max == 0 || count <= key.items_max) return;
  context.add(node, Errc::too_large,
              at_path(path, std::to_string(count) + " items, at most " +
                                std::to_string(key.items_max) + " are allowed"));
}

void check_list(Context& context, const Node& node, const Key& key, const std::string& path) {
  if (!check_kind(context, node, Node::Kind::list, path)) return;
  check_count(context, node, key, node.items.size(), path);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string item = path + "[" + std::to_string(i) + "]";
    if (key.shape == Shape::sections) {
      if (check_kind(context, node.items[i], Node::Kind::map, item))
        check_section(context, node.items[i], key, item);
    } else {
      check_word(context, node.items[i], key, item);
    }
  }
}

void check_text_map(Context& context, const Node& node, const Key& key, const std::string& path) {
  if (!check_kind(context, node, Node::Kind::map, path)) return;
  check_count(context, node, key, node.entries.size(), path);
  for (const text::Entry& entry : node.entries) {
    if (entry.key.empty() || entry.key.size() > 63 || !key.rule(entry.key).empty()) {
      context.add(entry.line, entry.column, Errc::bad_value,
                  at_path(path, "a key must have 1 to 63 bytes on one line"));
    }
    check_word(context, entry.value, key, path + "." + entry.key.substr(0, 63));
  }
}

/// A word of the grammar that is not honoured yet: empty or the default is harmless.
void check_later(Context& context, const text::Entry& entry, const Key& key,
                 const std::string& path) {
  const Node& value = entry.value;
  if (value.is_empty() ||
      (value.is_scalar() && !key.fallback.empty() && value.scalar == key.fallback))
    return;
  context.add(entry.line, entry.column, Errc::not_supported,
              at_path(path, "is not supported by this version"),
              key.fallback.empty() ? "leave it out; " + key.sentence
                                   : "only \"" + key.fallback + "\" is accepted");
}

void check_unknown(Context& context, const text::Entry& entry, const Key& section,
                   const std::string& path) {
  std::vector<std::string> names;
  for (const Key& child : section.children) {
    if (!child.json_only) names.push_back(child.name);
  }
  const std::string near = text::nearest_word(entry.key, names);
  std::string hint = near.empty() ? "" : "did you mean \"" + near + "\"?";
  if (hint.empty())
    hint = names.empty() ? "nothing is allowed here" : "allowed here: " + joined(names);
  context.add(entry.line, entry.column, Errc::unknown_key,
              at_path(path, "unknown key \"" + entry.key.substr(0, 80) + "\""), std::move(hint));
}

}  // namespace

std::string at_path(const std::string& path, const std::string& message) {
  return path.empty() ? message : path + ": " + message;
}

void check_section(Context& context, const Node& node, const Key& section,
                   const std::string& path) {
  for (const text::Entry& entry : node.entries) {
    const Key* key = section.find(entry.key);
    if (key == nullptr || (key->json_only && !context.json)) {
      check_unknown(context, entry, section, path);
      continue;
    }
    const std::string here = path.empty() ? entry.key : path + "." + entry.key;
    if (!key->honoured) {
      check_later(context, entry, *key, here);
      continue;
    }
    if (entry.value.is_null()) continue;  // as if the key were absent
    switch (key->shape) {
      case Shape::section:
        if (entry.value.is_scalar() && !key->short_flag.empty()) {
          check_scalar(context, entry.value, *key->find(key->short_flag), here);
          break;
        }
        if (entry.value.is_list() && !key->short_list.empty()) {
          check_list(context, entry.value, *key->find(key->short_list), here);
        } else if (check_kind(context, entry.value, Node::Kind::map, here))
          check_section(context, entry.value, *key, here);
        break;
      case Shape::words:
      case Shape::sections: check_list(context, entry.value, *key, here); break;
      case Shape::text_map: check_text_map(context, entry.value, *key, here); break;
      default: check_scalar(context, entry.value, *key, here);
    }
  }
  for (const Key& key : section.children) {
    if (!key.required) continue;
    const Node* value = node.find(key.name);
    if (value != nullptr && !value->is_null()) continue;
    const std::string wanted =
        key.choices.empty() ? "" : "write '" + key.name + ": " + key.choices.front() + "'";
    context.add(node, Errc::missing_key, at_path(path, "\"" + key.name + "\" is missing"),
                wanted.empty() ? key.sentence : wanted);
  }
}

}  // namespace cupel::campaign
