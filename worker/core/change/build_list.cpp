#include "worker/core/change/build_list.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace cupel::worker::change {
namespace {

constexpr std::size_t kModulesMax = 100'000;
constexpr std::size_t kEdgesMax = 2'000'000;
constexpr std::size_t kMovesMax = 2'000;

Error malformed(const char* what) {
  return Error{Errc::bad_value, what, {}, {}};
}

ListedModule module_of(const nlohmann::json& json) {
  const auto text = [](const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const auto flag = [&](const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_boolean() && it->get<bool>();
  };
  const auto list = [&](const char* key) {
    std::vector<std::string> all;
    const auto it = json.find(key);
    if (it == json.end() || !it->is_array()) return all;
    for (const auto& one : *it) {
      if (one.is_string()) all.push_back(one.get<std::string>());
    }
    return all;
  };
  ListedModule module;
  module.path = text(json, "Path");
  module.version = text(json, "Version");
  module.time = text(json, "Time");
  module.versions = list("Versions");
  module.retracted = list("Retracted");
  module.main = flag("Main");
  module.indirect = flag("Indirect");
  module.deprecated = text(json, "Deprecated");
  if (const auto it = json.find("Replace"); it != json.end() && it->is_object()) {
    module.replaced = true;
    module.replaced_by = text(*it, "Path");
    module.replaced_version = text(*it, "Version");
  }
  if (const auto it = json.find("Error"); it != json.end() && it->is_object()) {
    module.error = text(*it, "Err");
  }
  return module;
}

/// The end of the object that begins at `at`; npos when there is none.
std::size_t object_end(std::string_view out, std::size_t at) {
  std::size_t depth = 0;
  bool quoted = false;
  for (; at < out.size(); ++at) {
    const char c = out[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

std::string path_of(std::string_view node) {
  return std::string(node.substr(0, node.find('@')));
}

/// "go" and "toolchain" are nodes of the graph and no modules.
bool is_toolchain(std::string_view path) {
  return path == "go" || path == "toolchain";
}

}  // namespace

Result<std::vector<ListedModule>> parse_module_list(std::string_view out) {
  std::vector<ListedModule> modules;
  for (std::size_t at = 0; at < out.size();) {
    if (out[at] == ' ' || out[at] == '\n' || out[at] == '\r' || out[at] == '\t') {
      ++at;
      continue;
    }
    const std::size_t end = out[at] == '{' ? object_end(out, at) : std::string_view::npos;
    if (end == std::string_view::npos) return malformed("go list -m -json printed something else");
    const auto json = nlohmann::json::parse(out.substr(at, end - at), nullptr, false);
    if (!json.is_object()) return malformed("go list -m -json printed something else");
    if (modules.size() >= kModulesMax) {
      return Error{Errc::too_large, "more than 100,000 modules", {}, {}};
    }
    modules.push_back(module_of(json));
    at = end;
  }
  return modules;
}

BuildList build_list(const std::vector<ListedModule>& modules) {
  BuildList list;
  for (const auto& module : modules) {
    if (!module.main && !module.path.empty()) list.emplace(module.path, module);
  }
  return list;
}

Result<ModuleGraph> parse_module_graph(std::string_view out) {
  ModuleGraph graph;
  std::size_t edges = 0;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = std::min(out.find('\n', at), out.size());
    std::string_view line = out.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      return malformed("go mod graph printed something else");
    }
    if (++edges > kEdgesMax) return Error{Errc::too_large, "a module graph too large", {}, {}};
    graph[std::string(line.substr(0, space))].emplace_back(line.substr(space + 1));
  }
  return graph;
}

std::set<std::string> closure_of(const ModuleGraph& graph,
                                 const std::vector<ModuleTarget>& targets) {
  std::set<std::string> seen;
  std::deque<std::string> queue;
  for (const auto& target : targets) queue.push_back(target.module + '@' + target.version);
  std::set<std::string> paths;
  while (!queue.empty()) {
    const std::string node = std::move(queue.front());
    queue.pop_front();
    const auto found = graph.find(node);
    if (found == graph.end()) continue;
    for (const auto& next : found->second) {
      const std::string path = path_of(next);
      if (is_toolchain(path)) continue;
      paths.insert(path);
      if (seen.insert(next).second) queue.push_back(next);
    }
  }
  return paths;
}

std::vector<ModuleMove> moves_between(const BuildList& before, const BuildList& after,
                                      const std::vector<ModuleTarget>& targets) {
  std::map<std::string, ModuleMove> moved;
  const auto shown = [](const ListedModule& module) {
    if (!module.replaced) return module.version;
    return module.version + " => " + module.replaced_by +
           (module.replaced_version.empty() ? "" : '@' + module.replaced_version);
  };
  const auto is_target = [&](const std::string& path) {
    return std::ranges::any_of(targets, [&](const auto& target) { return target.module == path; });
  };
  for (const auto& [path, module] : before) {
    const auto now = after.find(path);
    if (now == after.end()) {
      moved.emplace(path, ModuleMove{path, shown(module), "", !module.indirect, is_target(path)});
    } else if (shown(now->second) != shown(module)) {
      moved.emplace(path, ModuleMove{path, shown(module), shown(now->second), !now->second.indirect,
                                     is_target(path)});
    }
  }
  for (const auto& [path, module] : after) {
    if (before.contains(path)) continue;
    moved.emplace(path, ModuleMove{path, "", shown(module), !module.indirect, is_target(path)});
  }
  std::vector<ModuleMove> list;
  for (auto& [path, move] : moved) {
    if (list.size() < kMovesMax) list.push_back(std::move(move));
  }
  return list;
}

}  // namespace cupel::worker::change
