#include "common/config/layers.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace cupel::config {
namespace {

/// Variables that Kubernetes adds for a service called like the program; nobody wrote them as
/// settings.
bool is_service_link(std::string_view rest) {
  return rest == "PORT" || rest.starts_with("PORT_") || rest == "SERVICE_HOST" ||
         rest.starts_with("SERVICE_PORT");
}

}  // namespace

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

}  // namespace cupel::config
