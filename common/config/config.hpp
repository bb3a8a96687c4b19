/// Settings of a daemon: declared once, read from four layers (flags > environment > files >
/// defaults), checked as a whole, shown with their origin. Secrets are only ever named by file.
///
///   config::Schema schema("cupel-worker", "CUPEL_WORKER", "Runs tasks of a coordinator in
///   containers."); schema.add({.name = "slots", .type = config::Type::number, .sentence = "Tasks
///   at once.",
///               .fallback = "1", .min = 1, .max = 256, .example = "4"});
///   auto loaded = config::load(schema, argc, argv);
///   if (loaded.exit_code) return config::print(loaded), *loaded.exit_code;
///   const auto slots = loaded.settings.number("slots");
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/text/diagnostic.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::config {

using text::Diagnostic;

enum class Type : std::uint8_t {
  text,
  path,         ///< Text; relative paths in a file are relative to that file.
  secret_file,  ///< Like path; what the file holds is a secret. The name ends in "_file".
  number,
  size,      ///< "4MiB", "512KiB" or plain bytes; read with number().
  duration,  ///< "10m", "1h30m", "500ms".
  flag,      ///< true | false
  list,      ///< Texts: a YAML list; in flags and environment separated by commas.
};

struct Setting {
  std::string
      name;  ///< snake_case; a dot nests: "budgets.create" is `budgets: {create: }` in a file.
  Type type = Type::text;
  std::string sentence = {};  ///< What it is, for help and docs.
  std::string unit = {};      ///< For people: "slots", "per stream".
  std::string fallback = {};  ///< The default in the file's notation; empty = none.
  bool required = false;      ///< An error when no layer sets it.
  std::int64_t min = std::numeric_limits<std::int64_t>::min();  ///< number, size; durations in ms.
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> choices = {};  ///< text: the closed list of words, if there is one.
  std::string example = {};
  bool reloadable = false;  ///< Takes effect on SIGHUP.
};

class Settings;

class Schema {
 public:
  /// `environment_prefix` such as "CUPEL_WORKER": variable CUPEL_WORKER_DATA_DIR sets data_dir.
  Schema(std::string program, std::string environment_prefix, std::string summary);

  /// A name declared twice, or a secret whose name doesn't end in "_file", is a bug (throws).
  void add(Setting setting);
  /// Read when no --config is given and they exist, later ones win. A folder means its *.yaml in
  /// order.
  void default_file(std::string path);
  /// What no value shows alone: called with valid values, when the program is to run and by `config
  /// check`. An error of unfit() is told at the place of its setting.
  void rule(std::function<Result<void>(const Settings&)> rule);
  /// The rule that a program can make its own options of the values.
  template <typename Options>
  void rule_of(Result<Options> (*options_from)(const Settings&)) {
    rule([options_from](const Settings& settings) -> Result<void> {
      const Result<Options> options = options_from(settings);
      return options ? Result<void>() : options.error();
    });
  }

  [[nodiscard]] const Setting* find(std::string_view name) const;
  [[nodiscard]] const std::vector<Setting>& settings() const { return settings_; }
  [[nodiscard]] const std::string& program() const { return program_; }
  [[nodiscard]] const std::string& environment_prefix() const { return environment_prefix_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::vector<std::string>& default_files() const { return default_files_; }
  [[nodiscard]] const std::vector<std::function<Result<void>(const Settings&)>>& rules() const {
    return rules_;
  }

 private:
  std::string program_;
  std::string environment_prefix_;
  std::string summary_;
  std::vector<Setting> settings_;
  std::vector<std::string> default_files_;
  std::vector<std::function<Result<void>(const Settings&)>> rules_;
};

/// The values. Asking for a name that was not declared, or as another type, is a bug (throws).
/// Values are valid: types, bounds and choices were checked while loading.
class Settings {
 public:
  struct Value {
    std::string text;                ///< In the file's notation; list items joined by commas.
    std::vector<std::string> items;  ///< type list.
    std::string origin;  ///< "default", "environment CUPEL_WORKER_SLOTS", "worker.yaml:3:8", "flag
                         ///< --slots".
    bool set = false;    ///< Some layer set it, or it has a default.
  };

  [[nodiscard]] bool is_set(std::string_view name) const;
  [[nodiscard]] const std::string& text(
      std::string_view name) const;  ///< text, path, secret_file; "" where unset.
  [[nodiscard]] std::int64_t number(
      std::string_view name) const;  ///< number, size (bytes); 0 where unset.
  [[nodiscard]] Duration duration(std::string_view name) const;  ///< 0 where unset.
  [[nodiscard]] bool flag(std::string_view name) const;          ///< false where unset.
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  [[nodiscard]] const std::string& origin(std::string_view name) const;

  std::map<std::string, Value, std::less<>> values;
  std::map<std::string, Type, std::less<>> types;

 private:
  [[nodiscard]] const Value& value_of(std::string_view name,
                                      std::initializer_list<Type> types_allowed) const;
};

/// A value that doesn't fit with others: bad_config, "setting NAME: WHY".
[[nodiscard]] Error unfit(std::string_view setting, std::string_view why);

/// What the outside says; every part can be a fake in a test.
struct Inputs {
  std::vector<std::string> arguments;  ///< Without the program's name.
  std::map<std::string, std::string> environment;
  std::function<Result<std::string>(const std::string& path)> read_file;
  /// Paths of a folder's *.yaml, sorted; of a file itself; empty where nothing is there.
  std::function<std::vector<std::string>(const std::string& path)> expand;
};

/// The end of loading. With `exit_code` the program prints and ends: help, version, `config check`,
/// `config show [--origin]`, `config example`, or faults (exit code 2).
struct Loaded {
  Settings settings;
  std::vector<Diagnostic> faults;
  std::optional<int> exit_code;
  std::string out;  ///< For standard output.
  std::string err;  ///< For standard error.
};

/// Pure, given `inputs`. Grammar of the arguments:
///   PROGRAM [--config FILE]... [--NAME VALUE | --NAME=VALUE]...   run (dashes or underscores in
///   NAME) PROGRAM config check | show [--origin] | example [options as above] PROGRAM --help |
///   --version
[[nodiscard]] Loaded load(const Schema& schema, const Inputs& inputs);
/// The variables of this process; the first of two with one name.
[[nodiscard]] std::map<std::string, std::string> process_environment();
/// With this process's arguments, environment and files.
[[nodiscard]] Loaded load(const Schema& schema, int argc, const char* const* argv);
/// Writes out and err to the standard streams.
void print(const Loaded& loaded);

/// What --help prints.
[[nodiscard]] std::string help(const Schema& schema);
/// "NAME  VALUE  (ORIGIN)" for every setting; a secret_file shows its path, never its content.
[[nodiscard]] std::string show(const Schema& schema, const Settings& settings, bool with_origin);
/// A commented YAML file with every setting, its sentence, bounds and default.
[[nodiscard]] std::string example_file(const Schema& schema);
/// Markdown table of every setting, for docs/.
[[nodiscard]] std::string markdown(const Schema& schema);

}  // namespace cupel::config
