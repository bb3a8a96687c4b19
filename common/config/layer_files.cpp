#include "common/config/layers.hpp"
#include "common/text/document.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace cupel::config {
namespace {

bool is_path(Type type) {
  return type == Type::path || type == Type::secret_file;
}

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

}  // namespace

void apply_files(State& state, const std::vector<std::string>& asked, const Inputs& inputs) {
  std::vector<std::string> named = asked;
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

}  // namespace cupel::config
