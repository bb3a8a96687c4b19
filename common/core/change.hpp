/// What a campaign changes between the two sides of a unit, and what became of it. Plain values:
/// the campaign parser fills them, a mutate task carries them, its result answers with ChangeFacts.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/outcome.hpp"
#include "common/core/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel {

/// A module and the version that is wanted: an exact one ("v1.2.3") or a query ("latest", "minor",
/// "patch") that the mutate task resolves. Branches and other queries are refused.
struct ModuleTarget {
  std::string module;
  std::string version;
  friend bool operator==(const ModuleTarget&, const ModuleTarget&) = default;
};

enum class Select : std::uint8_t {
  named,       ///< The modules of Upgrade::modules.
  smallest,    ///< Patch before minor before major; the first module by name that has such a step.
  vulnerable,  ///< The lowest eligible version that fixes what the scan of the before side found.
};

struct Upgrade {
  Select select = Select::named;
  std::vector<ModuleTarget> modules;       ///< For Select::named: at least one, at most 64.
  std::uint64_t min_age_s = 72ULL * 3600;  ///< Cooldown for versions found by a query; 0 = off.
  bool allow_major = false;
  std::vector<std::string> deny;   ///< Module paths that are never upgraded.
  std::vector<ModuleTarget> pins;  ///< A query may only choose this version of the module.
  friend bool operator==(const Upgrade&, const Upgrade&) = default;
};

/// Another toolchain for the same code.
struct GoVersionChange {
  std::string version;           ///< Go minor ("1.26") or an image identity.
  bool raise_directive = false;  ///< The go line becomes `version`, too.
  friend bool operator==(const GoVersionChange&, const GoVersionChange&) = default;
};

/// A candidate of a library in place of the version that the unit requires.
struct Replacement {
  std::string module;
  Source with;
  friend bool operator==(const Replacement&, const Replacement&) = default;
};
struct Replace {
  std::vector<Replacement> modules;  ///< 1..16
  friend bool operator==(const Replace&, const Replace&) = default;
};

/// A unified diff over the repository's root, at most kPatchBytesMax.
struct ApplyPatch {
  std::string diff;
  friend bool operator==(const ApplyPatch&, const ApplyPatch&) = default;
};
inline constexpr std::size_t kPatchBytesMax = 256 * 1024;

struct NoChange {
  friend bool operator==(const NoChange&, const NoChange&) = default;
};

using Change = std::variant<NoChange, Upgrade, GoVersionChange, Replace, ApplyPatch>;

/// Why a change means nothing to a unit: the reason of verdict not_affected.
enum class NotAffected : std::uint8_t {
  none,
  already_at_version,
  excluded,
  major_available,
  module_absent,
  not_used,
  replaced_no_effect,
  tool_only,
};

/// Why a patch is withheld. A gate never stops the after side from being executed and never changes
/// a verdict.
enum class Gate : std::uint8_t {
  module_path_changed,
  go_directive_changed,
  toolchain_changed,
  replace_changed,
  exclude_changed,
  retract_changed,
  tool_changed,
  godebug_changed,
  ignore_changed,
  target_not_set,
  version_decreased,
  increase_outside_closure,
  direct_dependency_added,
  direct_dependency_removed,
  direct_became_indirect,
  not_tidy,
  tidy_failed,
  target_not_in_build_list,
  outside_closure,
  gosum_unexplained,
  protected_file_changed,
  scope_exceeded,
  verify_failed,
  candidate_tree_mismatch,
  advisory_not_resolved,
  advisory_introduced,
  scan_not_bound,
  scan_inconclusive,
};

struct GateFinding {
  Gate gate = Gate::not_tidy;
  std::string detail;  ///< One line: which module, which line.
  friend bool operator==(const GateFinding&, const GateFinding&) = default;
};

/// A module whose version in the build list differs between the sides.
struct ModuleMove {
  std::string module;
  std::string from;  ///< Empty: it entered.
  std::string to;    ///< Empty: it left.
  bool direct = false;
  bool target = false;
  friend bool operator==(const ModuleMove&, const ModuleMove&) = default;
};

/// A module with versions above the one in use.
struct Candidate {
  std::string module;
  std::string current;
  std::string latest;
  std::string chosen;              ///< Empty: none was eligible.
  std::vector<std::string> notes;  ///< Why versions above `chosen` were not taken; capped at 20.
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// What mutate did. The after side's snapshot stays on the worker; its diff is an artifact.
struct ChangeFacts {
  std::string tree;  ///< Of the after snapshot; equal to before's = no change.
  NotAffected not_affected = NotAffected::none;
  std::vector<ModuleTarget> resolved;  ///< Exact versions: what a repetition must apply.
  std::vector<ModuleMove> moved;       ///< Sorted by module; at most 2,000.
  std::vector<Candidate> candidates;
  std::string go_before;  ///< The go lines.
  std::string go_after;
  std::vector<GateFinding> gates;  ///< Empty: nothing withholds the patch.
  Digest patch;                    ///< Unified diff with a/ b/ names; empty digest = no patch.
  std::uint64_t patch_bytes = 0;
  friend bool operator==(const ChangeFacts&, const ChangeFacts&) = default;
};

[[nodiscard]] std::string_view name(Select value);
[[nodiscard]] std::string_view name(NotAffected value);
[[nodiscard]] std::string_view name(Gate value);
template <>
std::optional<Select> parse_name<Select>(std::string_view text);
template <>
std::size_t count_of<Select>();
template <>
std::optional<NotAffected> parse_name<NotAffected>(std::string_view text);
template <>
std::size_t count_of<NotAffected>();
template <>
std::optional<Gate> parse_name<Gate>(std::string_view text);
template <>
std::size_t count_of<Gate>();
/// "upgrade", "go", "replace", "patch", "none".
[[nodiscard]] std::string_view kind_of(const Change& change);

}  // namespace cupel
