/// The layers behind load(): each sets values and names faults; a later layer wins.
#pragma once

#include "common/config/config.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::config {

struct State {
  const Schema& schema;
  Settings settings;
  std::vector<Diagnostic> faults;
};

enum class Action { run, help, version, check, show, example };

/// The command line, split but not yet applied.
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

/// Where a value stands, for faults and for `show --origin`.
struct Origin {
  std::string name;  ///< "worker.yaml", "environment CUPEL_X", "flag --x", "default".
  int line = 0;
  int column = 0;

  [[nodiscard]] std::string text() const {
    return line > 0 ? name + ":" + std::to_string(line) + ":" + std::to_string(column) : name;
  }
};

void add_fault(State& state, const Origin& origin, Errc code, std::string message,
               std::string hint = "");
/// Names an unknown setting and what was probably meant.
void add_unknown(State& state, const Origin& origin, std::string_view name);
/// Checks and sets; a wrong value is a fault and leaves the value of the layer below.
void set_scalar(State& state, const Setting& setting, const std::string& text,
                const Origin& origin);
void set_list(State& state, const Setting& setting, std::vector<std::string> items,
              const Origin& origin);

/// The layers, in the order in which load() applies them.
void apply_defaults(State& state);
void apply_files(State& state, const std::vector<std::string>& asked, const Inputs& inputs);
void apply_environment(State& state, const Inputs& inputs);
void apply_flags(State& state, const Arguments& arguments);

/// "data-dir" and "data_dir" are one name.
[[nodiscard]] std::string setting_name_of_flag(std::string_view flag);
/// "CUPEL_WORKER_DATA_DIR".
[[nodiscard]] std::string environment_name(const Schema& schema, const Setting& setting);
/// "a,b" as items, empty ones left out.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

}  // namespace cupel::config
