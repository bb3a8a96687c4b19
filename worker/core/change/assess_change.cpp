#include "worker/core/change/assess_change.hpp"

#include "common/core/error.hpp"
#include "worker/core/change/semver.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cupel::worker::change {
namespace {

/// The first fault of what the go command said, on one line. It tells who imports whom over several
/// lines, and what is wrong at their end.
std::string first_fault(std::string_view words) {
  std::string out;
  while (!words.empty()) {
    std::string_view line = words.substr(0, words.find('\n'));
    words.remove_prefix(std::min(words.size(), line.size() + 1));
    while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) line.remove_prefix(1);
    out += (out.empty() ? "" : " ") + std::string(line);
    if (!line.ends_with(" imports") && !line.ends_with(" tested by")) break;
  }
  return out;
}

constexpr std::size_t kMovesTold = 50;

std::string target_text(const ModuleTarget& target) {
  return target.module + '@' + target.version;
}

/// What became of one target; `none` when it is simply there.
NotAffected fate_of(const Applied& applied, const ModuleTarget& target,
                    std::vector<Finding>& notes) {
  const auto now = applied.after.modules.find(target.module);
  if (now == applied.after.modules.end()) {
    notes.push_back(note("not_used: " + target_text(target) +
                             ": no package needs the module, go mod tidy dropped the requirement",
                         target.module));
    return NotAffected::not_used;
  }
  if (now->second.replaced && !applied.may_replace) {
    const std::string by =
        now->second.replaced_by +
        (now->second.replaced_version.empty() ? std::string() : '@' + now->second.replaced_version);
    notes.push_back(note("replaced_no_effect: " + target_text(target) +
                             ": a replace directive puts " + by +
                             " in its place, so the build doesn't use the new version",
                         target.module));
    return NotAffected::replaced_no_effect;
  }
  if (applied.only_for_tools.contains(target.module)) {
    notes.push_back(note("tool_only: " + target_text(target) +
                             ": only a tool directive needs the module, builds and tests are no "
                             "evidence for it",
                         target.module));
    return NotAffected::tool_only;
  }
  if (now->second.version != target.version && !applied.may_replace) {
    notes.push_back(note("selected: " + target.module + ' ' + now->second.version + ", not " +
                             target.version + ": the build list needs another version",
                         target.module));
    const auto was = applied.before.modules.find(target.module);
    if (was != applied.before.modules.end() && was->second.version == now->second.version) {
      return NotAffected::not_used;
    }
  }
  return NotAffected::none;
}

void tell_lines(const Applied& applied, std::vector<Finding>& notes) {
  const ModFile& before = applied.before.mod;
  const ModFile& after = applied.after.mod;
  const std::string was = before.go_version.value_or("");
  const std::string now = after.go_version.value_or("");
  if (was != now) {
    notes.push_back(note("go directive " + (was.empty() ? "(none)" : was) + " -> " +
                         (now.empty() ? "(none)" : now)));
  }
  if (before.toolchain != after.toolchain) {
    notes.push_back(note("toolchain directive " +
                         (before.toolchain.empty() ? "(none)" : before.toolchain) + " -> " +
                         (after.toolchain.empty() ? "(none)" : after.toolchain)));
  }
}

void tell_moves(const std::vector<ModuleMove>& moved, std::vector<Finding>& notes) {
  std::size_t told = 0;
  std::size_t others = 0;
  for (const ModuleMove& move : moved) {
    if (move.target) continue;
    if (++others > kMovesTold) continue;
    ++told;
    notes.push_back(note("also changed: " + move.module + ' ' +
                             (move.from.empty() ? "(none)" : move.from) + " -> " +
                             (move.to.empty() ? "(none)" : move.to),
                         move.module));
  }
  if (others > told) {
    notes.push_back(note("also changed: " + std::to_string(others - told) + " more modules"));
  }
}

void collect_gates(const Applied& applied, GateRules rules, Assessment& result) {
  // A candidate may need other versions than the one it stands for.
  if (applied.may_replace) {
    for (const auto& move : result.moved) rules.closure.insert(move.module);
  }
  // Since go 1.17 a go.mod names what the build list had anyway.
  if (applied.may_raise_go) {
    for (const auto& [path, module] : applied.after.modules) {
      const auto was = applied.before.modules.find(path);
      const bool same =
          was != applied.before.modules.end() && was->second.version == module.version;
      if (same) rules.closure.insert(path);
    }
  }
  const auto add = [&](std::vector<GateFinding> more) {
    result.gates.insert(result.gates.end(), std::make_move_iterator(more.begin()),
                        std::make_move_iterator(more.end()));
  };
  add(gate_b(applied.before.mod, applied.after.mod, rules));
  add(gate_build_list(applied.before.modules, applied.after.modules, rules));
  add(gate_go_sum(applied.before, applied.after, applied.graph, applied.before_tidied_sum));
}

void tell_warnings(const std::vector<std::string>& warnings, std::vector<Finding>& notes) {
  for (const std::string& words : warnings) {
    const bool retracted = words.find("retracted by module author") != std::string::npos;
    notes.push_back(note((retracted ? "retracted: " : "deprecated: ") + words));
  }
}

}  // namespace

Finding note(const std::string& message, const std::string& module) {
  Finding finding;
  finding.kind = FindingKind::note;
  finding.check = CheckKind::list;
  finding.message = capped_detail(message);
  finding.key = "note:" + message.substr(0, message.find_first_of(": ")) +
                (module.empty() ? "" : ':' + module);
  finding.signature = finding.key;
  return finding;
}

bool may_be_tool_only(const ModFile& mod, std::string_view module) {
  const bool has_tool = std::ranges::any_of(mod.tools, [&](const std::string& tool) {
    return tool == module ||
           (tool.starts_with(module) && tool.substr(module.size()).starts_with('/'));
  });
  const bool indirect = std::ranges::any_of(
      mod.requirements, [&](const Requirement& one) { return one.path == module && one.indirect; });
  return has_tool && indirect;
}

Assessment assess_change(const Applied& applied) {
  Assessment result;
  result.go_before = applied.before.mod.go_version.value_or("");
  result.go_after = applied.after.mod.go_version.value_or("");
  result.moved = moves_between(applied.before.modules, applied.after.modules, applied.targets);

  GateRules rules;
  rules.may_replace = applied.may_replace;
  rules.may_raise_go = applied.may_raise_go;
  rules.closure = closure_of(applied.graph, applied.targets);
  NotAffected first = NotAffected::none;
  std::size_t without_effect = 0;
  for (const ModuleTarget& target : applied.targets) {
    const NotAffected fate = fate_of(applied, target, result.notes);
    if (fate == NotAffected::none) {
      rules.targets.push_back(target);
      continue;
    }
    ++without_effect;
    if (first == NotAffected::none) first = fate;
    // What is withheld, is withheld for what is in the manifest.
    if (fate != NotAffected::not_used) rules.targets.push_back(target);
  }
  if (!applied.targets.empty() && without_effect == applied.targets.size()) {
    result.not_affected = first;
    result.nothing_left = first == NotAffected::not_used;
  }
  if (applied.may_replace) rules.targets.clear();

  tell_lines(applied, result.notes);
  tell_warnings(applied.warnings, result.notes);
  tell_moves(result.moved, result.notes);

  auto& gates = result.gates;
  if (applied.gated) collect_gates(applied, rules, result);
  if (applied.tidy.failed) {
    gates.push_back({Gate::tidy_failed, first_fault(applied.tidy.words)});
    result.notes.push_back(note("tidy_failed: " + applied.tidy.words));
  } else if (!applied.tidy.idempotent) {
    gates.push_back({Gate::not_tidy, "a second go mod tidy changed go.mod or go.sum"});
  }
  tidy_gates(gates);
  return result;
}

}  // namespace cupel::worker::change
