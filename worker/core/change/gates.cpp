#include "worker/core/change/gates.hpp"

#include "worker/core/change/semver.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cupel::worker::change {
namespace {

constexpr std::size_t kGatesMax = 50;

using Gates = std::vector<GateFinding>;

std::string shown(const std::string& text) {
  return text.empty() ? "(none)" : text;
}

void compare_line(Gates& gates, Gate gate, const std::string& before, const std::string& after) {
  if (before != after) gates.push_back({gate, shown(before) + " -> " + shown(after)});
}

void compare_sets(Gates& gates, Gate gate, const std::set<std::string>& before,
                  const std::set<std::string>& after) {
  for (const auto& line : before) {
    if (!after.contains(line)) gates.push_back({gate, "removed: " + line});
  }
  for (const auto& line : after) {
    if (!before.contains(line)) gates.push_back({gate, "added: " + line});
  }
}

std::set<std::string> set_of(const std::vector<std::string>& lines) {
  return {lines.begin(), lines.end()};
}

std::set<std::string> replacements_of(const ModFile& mod) {
  std::set<std::string> lines;
  for (const auto& one : mod.replacements) {
    lines.insert(one.path + (one.version.empty() ? "" : ' ' + one.version) + " => " + one.target +
                 (one.target_version.empty() ? "" : ' ' + one.target_version));
  }
  return lines;
}

std::map<std::string, Requirement> requirements_of(const ModFile& mod) {
  std::map<std::string, Requirement> all;
  for (const auto& one : mod.requirements) all.insert_or_assign(one.path, one);
  return all;
}

bool is_target(const GateRules& rules, const std::string& path) {
  return std::ranges::find(rules.targets, path, &ModuleTarget::module) != rules.targets.end();
}

bool explained(const GateRules& rules, const std::string& path) {
  return is_target(rules, path) || rules.closure.contains(path);
}

void compare_requirements(Gates& gates, const ModFile& before_mod, const ModFile& after_mod,
                          const GateRules& rules) {
  const auto before = requirements_of(before_mod);
  const auto after = requirements_of(after_mod);
  for (const auto& [path, now] : after) {
    const auto was = before.find(path);
    const std::string line = path + ' ' + now.version;
    if (was == before.end()) {
      if (!now.indirect && !is_target(rules, path)) {
        gates.push_back({Gate::direct_dependency_added, line});
      } else if (!explained(rules, path)) {
        gates.push_back({Gate::increase_outside_closure, "added: " + line});
      }
      continue;
    }
    const std::string step = path + ' ' + was->second.version + " -> " + now.version;
    const auto order = compare_versions(now.version, was->second.version);
    if (order < 0) gates.push_back({Gate::version_decreased, step});
    if (order > 0 && !explained(rules, path)) {
      gates.push_back({Gate::increase_outside_closure, step});
    }
  }
  for (const auto& [path, was] : before) {
    if (!was.indirect && !after.contains(path)) {
      gates.push_back({Gate::direct_dependency_removed, path + ' ' + was.version});
    }
  }
  for (const auto& target : rules.targets) {
    const auto now = after.find(target.module);
    if (now != after.end() && now->second.version == target.version) continue;
    gates.push_back({Gate::target_not_set,
                     target.module + '@' + target.version + ": go.mod has " +
                         (now == after.end() ? "no such requirement" : now->second.version)});
  }
}

/// "module version" or "module version/go.mod" to its hash.
std::map<std::string, std::string> sums_of(const std::string& text) {
  std::map<std::string, std::string> sums;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto hash = line.rfind(' ');
    if (hash == std::string::npos || hash == 0) continue;
    sums.insert_or_assign(line.substr(0, hash), line.substr(hash + 1));
  }
  return sums;
}

/// "m v1.0.0/go.mod" as "m@v1.0.0".
std::string node_of(std::string key) {
  constexpr std::string_view kGoMod = "/go.mod";
  if (key.ends_with(kGoMod)) key.resize(key.size() - kGoMod.size());
  if (const auto space = key.find(' '); space != std::string::npos) key[space] = '@';
  return key;
}

std::set<std::string> nodes_of(const BuildList& modules) {
  std::set<std::string> nodes;
  for (const auto& [path, module] : modules) {
    nodes.insert(path + '@' + module.version);
    if (!module.replaced_version.empty()) {
      nodes.insert(module.replaced_by + '@' + module.replaced_version);
    }
  }
  return nodes;
}

/// Lines that went although their module version stays, and that tidy alone would have kept.
std::vector<std::string> lost(const ManifestSide& before, const ManifestSide& after,
                              const std::optional<std::string>& before_tidied) {
  const auto was = sums_of(before.sum);
  const auto now = sums_of(after.sum);
  const auto tidied = before_tidied ? sums_of(*before_tidied) : was;
  const auto stood = nodes_of(before.modules);
  const auto stands = nodes_of(after.modules);
  std::vector<std::string> keys;
  for (const auto& [key, hash] : was) {
    const std::string node = node_of(key);
    if (!now.contains(key) && tidied.contains(key) && stood.contains(node) &&
        stands.contains(node)) {
      keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace

Gates gate_a(const ModFile& before, const ModFile& after, const GateRules& rules) {
  Gates gates;
  compare_line(gates, Gate::module_path_changed, before.module_path, after.module_path);
  // Without a go line the go command goes by 1.16, and a copy that says so means the same.
  const bool spelled_out = !before.go_version && after.go_version == kImpliedGoVersion;
  if (!rules.may_raise_go && !spelled_out) {
    compare_line(gates, Gate::go_directive_changed, before.go_version.value_or(""),
                 after.go_version.value_or(""));
  }
  compare_line(gates, Gate::toolchain_changed, before.toolchain, after.toolchain);
  if (!rules.may_replace) {
    compare_sets(gates, Gate::replace_changed, replacements_of(before), replacements_of(after));
  }
  compare_sets(gates, Gate::exclude_changed, set_of(before.excludes), set_of(after.excludes));
  compare_sets(gates, Gate::retract_changed, set_of(before.retracts), set_of(after.retracts));
  compare_sets(gates, Gate::tool_changed, set_of(before.tools), set_of(after.tools));
  compare_sets(gates, Gate::godebug_changed, set_of(before.godebugs), set_of(after.godebugs));
  compare_sets(gates, Gate::ignore_changed, set_of(before.ignores), set_of(after.ignores));
  compare_requirements(gates, before, after, rules);
  return gates;
}

Gates gate_b(const ModFile& before, const ModFile& after, const GateRules& rules) {
  Gates gates = gate_a(before, after, rules);
  const auto was = requirements_of(before);
  for (const auto& [path, now] : requirements_of(after)) {
    const auto old = was.find(path);
    if (old != was.end() && !old->second.indirect && now.indirect) {
      gates.push_back({Gate::direct_became_indirect, path + ' ' + now.version});
    }
  }
  return gates;
}

Gates gate_build_list(const BuildList& before, const BuildList& after, const GateRules& rules) {
  Gates gates;
  for (const auto& target : rules.targets) {
    const auto now = after.find(target.module);
    if (now != after.end() && now->second.version == target.version) continue;
    gates.push_back(
        {Gate::target_not_in_build_list, target.module + '@' + target.version + ": selected is " +
                                             (now == after.end() ? "none" : now->second.version)});
  }
  for (const auto& [path, now] : after) {
    const auto was = before.find(path);
    const std::string from = was == before.end() ? "" : was->second.version;
    const std::string step = path + ' ' + shown(from) + " -> " + now.version;
    const auto order =
        from.empty() ? std::strong_ordering::greater : compare_versions(now.version, from);
    if (order < 0) gates.push_back({Gate::version_decreased, step});
    if (order > 0 && !explained(rules, path)) gates.push_back({Gate::outside_closure, step});
  }
  return gates;
}

bool lost_sums(const ManifestSide& before, const ManifestSide& after) {
  return !lost(before, after, std::nullopt).empty();
}

Gates gate_go_sum(const ManifestSide& before, const ManifestSide& after, const ModuleGraph& graph,
                  const std::optional<std::string>& before_tidied) {
  Gates gates;
  const auto was = sums_of(before.sum);
  const auto now = sums_of(after.sum);
  std::set<std::string> known = nodes_of(after.modules);
  for (const auto& [node, edges] : graph) {
    known.insert(node);
    known.insert(edges.begin(), edges.end());
  }
  for (const auto& [key, hash] : now) {
    const auto old = was.find(key);
    if (old == was.end() && !known.contains(node_of(key))) {
      gates.push_back({Gate::gosum_unexplained, "added: " + key});
    }
    if (old != was.end() && old->second != hash) {
      gates.push_back({Gate::gosum_unexplained, "changed: " + key});
    }
  }
  for (const std::string& key : lost(before, after, before_tidied)) {
    gates.push_back({Gate::gosum_unexplained, "removed: " + key});
  }
  return gates;
}

void tidy_gates(Gates& gates) {
  const auto key = [](const GateFinding& one) { return std::tie(one.gate, one.detail); };
  std::ranges::sort(gates, [&](const auto& a, const auto& b) { return key(a) < key(b); });
  gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
  if (gates.size() > kGatesMax) gates.resize(kGatesMax);
}

}  // namespace cupel::worker::change
