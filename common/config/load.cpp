#include "common/config/config.hpp"
#include "common/config/layers.hpp"
#include "common/core/version.hpp"
#include "common/text/document.hpp"
#include "common/text/units.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

namespace cupel::config {
namespace {

enum class Action { run, help, version, check, show, example };

struct Arguments {
  Action action = Action::run;
  bool with_origin = false;
  std::vector<std::string> files;
  struct Flag {
    std::string name;
    std::string text;
    bool has_text = false;
  };
  std::vector<Flag> flags;
};

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

bool is_path(Type type) {
  return type == Type::path || type == Type::secret_file;
}

// ---- files -------------------------------------------------------------------------------------

class FileLayer {
 public:
  FileLayer(State& state, std::string file) : state_(state), file_(std::move(file)) {}

  void apply(const text::Node& map, const std::string& prefix) {
    for (const text::Entry& entry : map.entries) {
      const std::string name = prefix + entry.key;
      if (const Setting* setting = state_.schema.find(name)) {
        take(*setting, entry.value);
      } else if (entry.value.is_map() && begins_a_name(name + ".")) {
        apply(entry.value, name + ".");
      } else {
        add_unknown(state_, {file_, entry.line, entry.column}, name);
      }
    }
  }

 private:
  [[nodiscard]] bool begins_a_name(const std::string& prefix) const {
    return std::ranges::any_of(state_.schema.settings(), [&prefix](const Setting& setting) {
      return setting.name.starts_with(prefix);
    });
  }

  void take(const Setting& setting, const text::Node& node) {
    const Origin origin{file_, node.line, node.column};
    if (node.is_null()) return;  // an empty key leaves the layer below
    if (setting.type == Type::list) {
      if (!node.is_list())
        return add_fault(state_, origin, Errc::bad_value, setting.name + ": must be a list");
      std::vector<std::string> items;
      for (const text::Node& item : node.items) {
        if (!item.is_scalar()) {
          return add_fault(state_, {file_, item.line, item.column}, Errc::bad_value,
                           setting.name + ": every item must be text");
        }
        items.push_back(item.scalar);
      }
      return set_list(state_, setting, std::move(items), origin);
    }
    if (!node.is_scalar()) {
      return add_fault(state_, origin, Errc::bad_value,
                       setting.name + ": must be one value, not a list or a mapping");
    }
    std::string value = node.scalar;
    if (is_path(setting.type) && !value.empty() && value.front() != '/') {
      value = (std::filesystem::path(file_).parent_path() / value).lexically_normal().string();
    }
    set_scalar(state_, setting, value, origin);
  }

  State& state_;
  std::string file_;
};

void apply_file(State& state, const std::string& file, const Inputs& inputs, bool must_exist) {
  const auto bytes = inputs.read_file(file);
  if (!bytes) {
    if (bytes.error().code == Errc::not_found && !must_exist) return;
    return add_fault(state, {file}, Errc::bad_config, bytes.error().what, bytes.error().detail);
  }
  text::DocumentLimits limits;
  limits.bytes = 1024 * 1024;
  limits.nodes = 100'000;
  const text::Document document = text::read_yaml(*bytes, file, limits);
  state.faults.insert(state.faults.end(), document.faults.begin(), document.faults.end());
  if (!document.root || document.root->is_null()) return;
  if (!document.root->is_map()) {
    return add_fault(state, {file, document.root->line, document.root->column}, Errc::bad_config,
                     "the file must be a mapping of settings");
  }
  FileLayer(state, file).apply(*document.root, "");
}

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> paths;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    if (end > at) paths.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

void apply_files(State& state, const Arguments& arguments, const Inputs& inputs) {
  std::vector<std::string> named = arguments.files;
  const auto variable = inputs.environment.find(state.schema.environment_prefix() + "_CONFIG");
  if (named.empty() && variable != inputs.environment.end()) named = split_paths(variable->second);
  const bool must_exist = !named.empty();
  for (const std::string& path : must_exist ? named : state.schema.default_files()) {
    const auto files = inputs.expand(path);
    if (files.empty() && must_exist) {
      add_fault(state, {path}, Errc::bad_config, "no such configuration file");
    }
    for (const std::string& file : files) apply_file(state, file, inputs, must_exist);
  }
}

// ---- environment -------------------------------------------------------------------------------

/// Variables that Kubernetes adds for a service called like the program; nobody wrote them as
/// settings.
bool is_service_link(std::string_view rest) {
  return rest == "PORT" || rest.starts_with("PORT_") || rest == "SERVICE_HOST" ||
         rest.starts_with("SERVICE_PORT");
}

void apply_environment(State& state, const Inputs& inputs) {
  const std::string prefix = state.schema.environment_prefix() + "_";
  std::map<std::string, const Setting*> known;
  for (const Setting& setting : state.schema.settings())
    known[environment_name(state.schema, setting)] = &setting;
  for (const auto& [variable, value] : inputs.environment) {
    if (!variable.starts_with(prefix) || variable == prefix + "CONFIG") continue;
    const std::string_view rest = std::string_view(variable).substr(prefix.size());
    const Origin origin{"environment " + variable};
    const auto found = known.find(variable);
    if (found == known.end()) {
      if (is_service_link(rest)) continue;
      std::string name(rest);
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      add_unknown(state, origin, name);
    } else if (found->second->type == Type::list) {
      set_list(state, *found->second, split_list(value), origin);
    } else {
      set_scalar(state, *found->second, value, origin);
    }
  }
}

// ---- arguments ---------------------------------------------------------------------------------

/// By hand: CLI11 puts its file layer over the environment and would have to be told every setting
/// again; here flags are the declared names and nothing else.
void parse_arguments(State& state, const std::vector<std::string>& words, Arguments& arguments) {
  std::vector<std::string> verbs;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      verbs.push_back(word == "-h" ? "help" : word);
      continue;
    }
    if (word == "--help") arguments.action = Action::help;
    if (word == "--version") arguments.action = Action::version;
    if (word == "--origin") arguments.with_origin = true;
    if (word == "--help" || word == "--version" || word == "--origin") continue;
    const std::size_t equals = word.find('=');
    Arguments::Flag flag{word.substr(2, equals == std::string::npos ? equals : equals - 2), "",
                         false};
    const Setting* setting = state.schema.find(setting_name_of_flag(flag.name));
    const bool is_flag = setting != nullptr && setting->type == Type::flag;
    if (equals != std::string::npos) {
      flag.text = word.substr(equals + 1);
      flag.has_text = true;
    } else if (!(is_flag && (i + 1 == words.size() || words[i + 1].starts_with("--")))) {
      // "--flag" alone means true; everything else takes the next word.
      if (i + 1 < words.size() && (setting != nullptr || flag.name == "config")) {
        flag.text = words[++i];
        flag.has_text = true;
      }
    } else {
      flag.text = "true";
      flag.has_text = true;
    }
    if (flag.name != "config") {
      arguments.flags.push_back(std::move(flag));
    } else if (flag.has_text && !flag.text.empty()) {
      arguments.files.push_back(flag.text);
    } else {
      add_fault(state, {"flag --config"}, Errc::usage, "a file name must follow");
    }
  }
  const std::string line = [&verbs] {
    std::string all;
    for (const std::string& verb : verbs) all += (all.empty() ? "" : " ") + verb;
    return all;
  }();
  const std::map<std::string, Action> actions = {{"", Action::run},
                                                 {"run", Action::run},
                                                 {"help", Action::help},
                                                 {"version", Action::version},
                                                 {"config check", Action::check},
                                                 {"config show", Action::show},
                                                 {"config example", Action::example}};
  const auto found = actions.find(line);
  if (found == actions.end()) {
    add_fault(state, {}, Errc::usage, "unknown command \"" + line + "\"",
              "see '" + state.schema.program() + " --help'");
  } else if (arguments.action == Action::run) {
    arguments.action = found->second;
  }
}

void apply_flags(State& state, const Arguments& arguments) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const Arguments::Flag& flag : arguments.flags) {
    const Origin origin{"flag --" + flag.name};
    const Setting* setting = state.schema.find(setting_name_of_flag(flag.name));
    if (setting == nullptr) {
      add_unknown(state, origin, setting_name_of_flag(flag.name));
    } else if (!flag.has_text) {
      add_fault(state, origin, Errc::usage, "a value must follow");
    } else if (setting->type == Type::list) {
      auto& items = lists[setting->name];
      for (std::string& item : split_list(flag.text)) items.push_back(std::move(item));
      set_list(state, *setting, items, origin);
    } else {
      set_scalar(state, *setting, flag.text, origin);
    }
  }
}

void apply_defaults(State& state) {
  for (const Setting& setting : state.schema.settings()) {
    state.settings.types[setting.name] = setting.type;
    Settings::Value& value = state.settings.values[setting.name];
    value.origin = "default";
    value.text = setting.fallback;
    value.set = !setting.fallback.empty();
    if (setting.type == Type::list) value.items = split_list(setting.fallback);
  }
}

void require_values(State& state) {
  for (const Setting& setting : state.schema.settings()) {
    if (setting.required && !state.settings.values[setting.name].set) {
      add_fault(state, {}, Errc::missing_key, setting.name + ": must be set", setting.sentence);
    }
  }
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

Loaded load(const Schema& schema, const Inputs& inputs) {
  State state{schema, {}, {}};
  Arguments arguments;
  apply_defaults(state);
  parse_arguments(state, inputs.arguments, arguments);
  Loaded loaded;
  if (arguments.action == Action::help || arguments.action == Action::version ||
      arguments.action == Action::example) {
    loaded.exit_code = 0;
    loaded.out = arguments.action == Action::help ? help(schema)
                 : arguments.action == Action::version
                     ? schema.program() + " " + std::string(kVersion) + "\n"
                     : example_file(schema);
    loaded.settings = std::move(state.settings);
    return loaded;
  }
  apply_files(state, arguments, inputs);
  apply_environment(state, inputs);
  apply_flags(state, arguments);
  require_values(state);
  loaded.settings = std::move(state.settings);
  loaded.faults = std::move(state.faults);
  if (arguments.action == Action::show)
    loaded.out = show(schema, loaded.settings, arguments.with_origin);
  if (!loaded.faults.empty()) {
    loaded.err = text::render(loaded.faults);
    loaded.exit_code = 2;
  } else if (arguments.action != Action::run) {
    if (arguments.action == Action::check) loaded.out = "configuration is valid\n";
    loaded.exit_code = 0;
  }
  return loaded;
}

}  // namespace cupel::config
