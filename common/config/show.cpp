#include "common/config/config.hpp"
#include "common/config/layers.hpp"
#include "common/text/units.hpp"

#include <algorithm>

namespace cupel::config {
namespace {

std::string type_name(Type type) {
  switch (type) {
    case Type::text: return "text";
    case Type::path: return "path";
    case Type::secret_file: return "path of a secret";
    case Type::number: return "number";
    case Type::size: return "size";
    case Type::duration: return "duration";
    case Type::flag: return "true or false";
    case Type::list: return "list";
  }
  return "";
}

std::string bound_text(Type type, std::int64_t value) {
  if (type == Type::size)
    return text::format_size(static_cast<std::uint64_t>(std::max<std::int64_t>(0, value)));
  if (type == Type::duration) {
    return text::format_duration(std::chrono::milliseconds(std::max<std::int64_t>(0, value)));
  }
  return std::to_string(value);
}

/// "number, 1 to 256, slots", "one of a, b".
std::string shape(const Setting& setting) {
  std::string out = type_name(setting.type);
  const bool low = setting.min != std::numeric_limits<std::int64_t>::min();
  const bool high = setting.max != std::numeric_limits<std::int64_t>::max();
  if (low && high) {
    out += ", " + bound_text(setting.type, setting.min) + " to " +
           bound_text(setting.type, setting.max);
  } else if (low) {
    out += ", at least " + bound_text(setting.type, setting.min);
  } else if (high) {
    out += ", at most " + bound_text(setting.type, setting.max);
  }
  for (std::size_t i = 0; i < setting.choices.size(); ++i) {
    out += (i == 0 ? ", one of " : ", ") + setting.choices[i];
  }
  if (!setting.unit.empty()) out += ", " + setting.unit;
  return out;
}

std::string flag_name(const Setting& setting) {
  std::string name = "--" + setting.name;
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string padded(std::string text, std::size_t columns) {
  if (text.size() < columns) text.append(columns - text.size(), ' ');
  return text;
}

/// YAML text in quotes wherever plain text could be read as something else.
std::string yaml_text(const Setting& setting, const std::string& value) {
  if (setting.type == Type::list) {
    std::string out = "[";
    for (const std::string& item : split_list(value))
      out += (out.size() > 1 ? ", \"" : "\"") + item + "\"";
    return out + "]";
  }
  const bool plain =
      setting.type != Type::text && setting.type != Type::path && setting.type != Type::secret_file;
  return plain && !value.empty() ? value : "\"" + value + "\"";
}

}  // namespace

std::string show(const Schema& schema, const Settings& settings, bool with_origin) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  const auto value_of = [&settings](const Setting& setting) {
    const Settings::Value& value = settings.values.find(setting.name)->second;
    return value.set ? value.text : std::string("-");
  };
  for (const Setting& setting : schema.settings()) {
    name_width = std::max(name_width, setting.name.size());
    value_width = std::max(value_width, std::min<std::size_t>(value_of(setting).size(), 48));
  }
  std::string out;
  for (const Setting& setting : schema.settings()) {
    std::string line = padded(setting.name, name_width) + "  " + value_of(setting);
    if (with_origin)
      line =
          padded(line, name_width + 2 + value_width) + "  (" + settings.origin(setting.name) + ")";
    out += line + "\n";
  }
  return out;
}

std::string example_file(const Schema& schema) {
  std::string out = "# Settings of " + schema.program() + ". " + schema.summary() + "\n";
  out += "# Every line that is commented out shows the default or an example.\n";
  std::string open;  // the nested mapping that was begun last
  for (const Setting& setting : schema.settings()) {
    const std::size_t dot = setting.name.rfind('.');
    const std::string parent = dot == std::string::npos ? "" : setting.name.substr(0, dot);
    const std::string leaf = dot == std::string::npos ? setting.name : setting.name.substr(dot + 1);
    out += "\n# " + setting.sentence + "\n# (" + shape(setting) +
           (setting.required ? ", required" : "") + ")\n";
    if (parent != open && !parent.empty()) out += "# " + parent + ":\n";
    open = parent;
    const std::string& value = setting.fallback.empty() ? setting.example : setting.fallback;
    out += (parent.empty() ? "# " : "#   ") + leaf + ": " + yaml_text(setting, value) + "\n";
  }
  return out;
}

std::string help(const Schema& schema) {
  std::string out = schema.summary() + "\n\nUsage: " + schema.program() +
                    " [--config FILE]... [--NAME VALUE]...\n       " + schema.program() +
                    " config check | config show [--origin] | config example\n       " +
                    schema.program() + " --help | --version\n\nA flag wins over " +
                    schema.environment_prefix() +
                    "_NAME, that over files (the last wins), those over defaults.\n\nSettings:\n";
  for (const Setting& setting : schema.settings()) {
    out += "  " + padded(flag_name(setting), 28) + " " + setting.sentence + "\n" +
           std::string(31, ' ') + shape(setting);
    if (setting.required) out += "; required";
    if (!setting.fallback.empty()) out += "; default " + setting.fallback;
    out += "\n";
  }
  return out;
}

std::string markdown(const Schema& schema) {
  std::string out = "| setting | what | shape | default |\n|---|---|---|---|\n";
  for (const Setting& setting : schema.settings()) {
    const std::string fallback = setting.fallback.empty() ? (setting.required ? "required" : "–")
                                                          : "`" + setting.fallback + "`";
    out += "| `" + setting.name + "` | " + setting.sentence + " | " + shape(setting) + " | " +
           fallback + " |\n";
  }
  return out;
}

}  // namespace cupel::config
