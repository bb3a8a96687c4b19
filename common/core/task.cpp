#include "common/core/task.hpp"

namespace cupel {

std::string source_name(const Source& source) {
  struct Namer {
    std::string operator()(const GitSource& git) const {
      return git.ref.empty() ? git.url : git.url + "@" + git.ref;
    }
    std::string operator()(const BundleSource& bundle) const {
      return bundle.name + "@" + bundle.commit.substr(0, 12);
    }
    std::string operator()(const ModuleSource& module) const {
      return module.path + "@" + module.version;
    }
  };
  return std::visit(Namer{}, source);
}

}  // namespace cupel
