#include "common/config/layers.hpp"
#include "common/text/units.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <limits>
#include <utility>

namespace cupel::config {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ",") + item;
  return out;
}

/// What is wrong with a scalar for its setting; empty when nothing is.
std::string complaint(const Setting& setting, const std::string& value) {
  const auto outside = [&setting](std::int64_t number) {
    return number < setting.min || number > setting.max;
  };
  const auto bounds = [&setting](const std::string& low, const std::string& high) {
    if (setting.max == std::numeric_limits<std::int64_t>::max()) return " is below " + low;
    return " is not between " + low + " and " + high;
  };
  const std::string quoted = "\"" + value + "\"";
  switch (setting.type) {
    case Type::number: {
      const auto number = text::parse_integer(value);
      if (!number) return quoted + " is not a whole number";
      if (outside(*number))
        return value + bounds(std::to_string(setting.min), std::to_string(setting.max));
      return "";
    }
    case Type::size: {
      const auto size = text::parse_size(value);
      if (!size) return quoted + " is not a size such as 4MiB";
      if (outside(static_cast<std::int64_t>(*size))) {
        return value + bounds(text::format_size(static_cast<std::uint64_t>(
                                  std::max<std::int64_t>(0, setting.min))),
                              text::format_size(static_cast<std::uint64_t>(setting.max)));
      }
      return "";
    }
    case Type::duration: {
      using std::chrono::milliseconds;
      const auto time = text::parse_duration(value);
      if (!time) return quoted + " is not a duration such as 90s or 1h30m";
      const auto ms = std::chrono::duration_cast<milliseconds>(*time).count();
      if (outside(ms)) {
        return value +
               bounds(text::format_duration(milliseconds(std::max<std::int64_t>(0, setting.min))),
                      setting.max == std::numeric_limits<std::int64_t>::max()
                          ? ""
                          : text::format_duration(milliseconds(setting.max)));
      }
      return "";
    }
    case Type::flag:
      return value == "true" || value == "false" ? "" : quoted + " is neither true nor false";
    case Type::text:
      if (setting.choices.empty() ||
          std::ranges::find(setting.choices, value) != setting.choices.end())
        return "";
      return quoted + " is none of " + joined(setting.choices);
    case Type::path:
    case Type::secret_file:
      return value.find('\0') == std::string::npos ? "" : "a path can't hold a NUL";
    case Type::list: return "";
  }
  return "";
}

}  // namespace

void add_fault(State& state, const Origin& origin, Errc code, std::string message,
               std::string hint) {
  state.faults.push_back(
      {origin.name, origin.line, origin.column, code, std::move(message), std::move(hint)});
}

void add_unknown(State& state, const Origin& origin, std::string_view name) {
  std::vector<std::string> names;
  for (const Setting& setting : state.schema.settings()) names.push_back(setting.name);
  std::string hint;
  if (state.schema.find(std::string(name) + "_file") != nullptr) {
    hint = "a secret is only named by file: " + std::string(name) + "_file";
  } else if (const std::string near = text::nearest_word(name, names); !near.empty()) {
    hint = "did you mean \"" + near + "\"?";
  }
  add_fault(state, origin, Errc::unknown_key, "unknown setting \"" + std::string(name) + "\"",
            hint);
}

void set_scalar(State& state, const Setting& setting, const std::string& text,
                const Origin& origin) {
  if (const std::string wrong = complaint(setting, text); !wrong.empty()) {
    return add_fault(state, origin, Errc::bad_value, setting.name + ": " + wrong, setting.sentence);
  }
  Settings::Value& value = state.settings.values[setting.name];
  value.text = text;
  value.origin = origin.text();
  value.set = true;
}

void set_list(State& state, const Setting& setting, std::vector<std::string> items,
              const Origin& origin) {
  Settings::Value& value = state.settings.values[setting.name];
  value.text = joined(items);
  value.items = std::move(items);
  value.origin = origin.text();
  value.set = true;
}

std::string setting_name_of_flag(std::string_view flag) {
  std::string name(flag);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string environment_name(const Schema& schema, const Setting& setting) {
  std::string name = schema.environment_prefix() + "_" + setting.name;
  for (char& c : name)
    c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) items.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return items;
}

}  // namespace cupel::config
