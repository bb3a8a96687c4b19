#include "common/config/config.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cupel::config {

Schema::Schema(std::string program, std::string environment_prefix, std::string summary)
    : program_(std::move(program)),
      environment_prefix_(std::move(environment_prefix)),
      summary_(std::move(summary)) {}

void Schema::add(Setting setting) {
  if (setting.name.empty() || find(setting.name) != nullptr) {
    throw std::logic_error("setting '" + setting.name + "' is declared twice or without a name");
  }
  if (setting.type == Type::secret_file && !setting.name.ends_with("_file")) {
    throw std::logic_error("secret setting '" + setting.name + "' must end in _file");
  }
  settings_.push_back(std::move(setting));
}

void Schema::default_file(std::string path) {
  default_files_.push_back(std::move(path));
}

void Schema::rule(std::function<Result<void>(const Settings&)> rule) {
  rules_.push_back(std::move(rule));
}

const Setting* Schema::find(std::string_view name) const {
  const auto found = std::ranges::find(settings_, name, &Setting::name);
  return found == settings_.end() ? nullptr : &*found;
}

}  // namespace cupel::config
