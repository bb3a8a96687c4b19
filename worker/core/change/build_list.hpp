/// What the go command says about modules: `go list -m -json`, `go mod graph`. Pure.
#pragma once

#include "common/core/change.hpp"
#include "common/core/error.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::change {

/// One object of `go list -m -json`.
struct ListedModule {
  std::string path;
  std::string version;  ///< Empty for the main modules.
  std::string time;     ///< RFC 3339; empty where it is unknown.
  std::vector<std::string> versions;
  bool main = false;
  bool indirect = false;
  bool replaced = false;
  std::string replaced_by;  ///< Path of the replacement.
  std::string replaced_version;
  std::string deprecated;
  std::vector<std::string> retracted;
  std::string error;
};

/// The concatenated objects. Errors: bad_value (something else stands there), too_large (over
/// 100,000).
[[nodiscard]] Result<std::vector<ListedModule>> parse_module_list(std::string_view out);

/// Path to module, without the main modules.
using BuildList = std::map<std::string, ListedModule>;
[[nodiscard]] BuildList build_list(const std::vector<ListedModule>& modules);

/// Edges of `go mod graph`, by "module@version" (the main module has no version).
using ModuleGraph = std::map<std::string, std::vector<std::string>>;
[[nodiscard]] Result<ModuleGraph> parse_module_graph(std::string_view out);

/// Paths of the modules that the targets reach; the targets themselves are not among them unless
/// another target reaches them.
[[nodiscard]] std::set<std::string> closure_of(const ModuleGraph& graph,
                                               const std::vector<ModuleTarget>& targets);

/// What moved between two build lists, sorted by path, at most 2,000. `direct` as the second says
/// (the first for what left).
[[nodiscard]] std::vector<ModuleMove> moves_between(const BuildList& before, const BuildList& after,
                                                    const std::vector<ModuleTarget>& targets);

}  // namespace cupel::worker::change
