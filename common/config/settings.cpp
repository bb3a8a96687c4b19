#include "common/config/config.hpp"
#include "common/text/units.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

namespace cupel::config {

const Settings::Value& Settings::value_of(std::string_view name,
                                          std::initializer_list<Type> types_allowed) const {
  const auto type = types.find(name);
  if (type == types.end() ||
      std::find(types_allowed.begin(), types_allowed.end(), type->second) == types_allowed.end()) {
    throw std::logic_error("setting '" + std::string(name) +
                           "' is not declared with the type asked for");
  }
  return values.find(name)->second;
}

bool Settings::is_set(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end())
    throw std::logic_error("setting '" + std::string(name) + "' is not declared");
  return found->second.set;
}

const std::string& Settings::text(std::string_view name) const {
  return value_of(name, {Type::text, Type::path, Type::secret_file}).text;
}

std::int64_t Settings::number(std::string_view name) const {
  const Value& value = value_of(name, {Type::number, Type::size});
  if (!value.set) return 0;
  if (types.find(name)->second == Type::number) return text::parse_integer(value.text).value();
  return static_cast<std::int64_t>(text::parse_size(value.text).value());
}

Duration Settings::duration(std::string_view name) const {
  const Value& value = value_of(name, {Type::duration});
  return value.set ? text::parse_duration(value.text).value() : Duration{0};
}

bool Settings::flag(std::string_view name) const {
  return value_of(name, {Type::flag}).text == "true";
}

const std::vector<std::string>& Settings::list(std::string_view name) const {
  return value_of(name, {Type::list}).items;
}

const std::string& Settings::origin(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end())
    throw std::logic_error("setting '" + std::string(name) + "' is not declared");
  return found->second.origin;
}

}  // namespace cupel::config
