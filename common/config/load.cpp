#include "common/config/layers.hpp"
#include "common/core/version.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cupel::config {
namespace {

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
      // An unknown flag takes it too where it can be a value, so that one mistake is one fault.
      const bool known = setting != nullptr || flag.name == "config";
      if (i + 1 < words.size() && (known || !words[i + 1].starts_with("--"))) {
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

void require_values(State& state) {
  // What a file that can't be read as YAML would have set is not missing.
  const bool unread = std::ranges::any_of(
      state.faults, [](const Diagnostic& fault) { return fault.code == Errc::yaml_syntax; });
  if (unread) return;
  for (const Setting& setting : state.schema.settings()) {
    if (setting.required && !state.settings.values[setting.name].set) {
      add_fault(state, {}, Errc::missing_key, setting.name + ": must be set", setting.sentence);
    }
  }
}

}  // namespace

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

constexpr std::string_view kUnfit = "setting ";

Error unfit(std::string_view setting, std::string_view why) {
  return {.code = Errc::bad_config,
          .what = std::string(kUnfit) + std::string(setting) + ": " + std::string(why),
          .detail = {},
          .hint = {}};
}

namespace {

Origin place_of(const State& state, std::string_view what) {
  if (!what.starts_with(kUnfit)) return {};
  what.remove_prefix(kUnfit.size());
  const std::string name(what.substr(0, what.find(':')));
  if (state.schema.find(name) == nullptr || !state.settings.is_set(name)) return {};
  return {state.settings.origin(name)};
}

void apply_rules(State& state) {
  for (const auto& rule : state.schema.rules()) {
    const Result<void> kept = rule(state.settings);
    if (kept) continue;
    const Error& error = kept.error();
    std::string message = error.what;
    if (!error.detail.empty()) message += " (" + error.detail + ")";
    add_fault(state, place_of(state, error.what), error.code, std::move(message), error.hint);
  }
}

}  // namespace

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
  apply_files(state, arguments.files, inputs);
  apply_environment(state, inputs);
  apply_flags(state, arguments);
  require_values(state);
  if (state.faults.empty() &&
      (arguments.action == Action::run || arguments.action == Action::check)) {
    apply_rules(state);
  }
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
