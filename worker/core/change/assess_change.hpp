/// From what the go command did to what a mutate task answers. Pure.
#pragma once

#include "common/core/change.hpp"
#include "common/core/finding.hpp"
#include "worker/core/change/build_list.hpp"
#include "worker/core/change/gates.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::change {

/// What became of `go mod tidy`.
struct TidyEnding {
  bool failed = false;     ///< Then the manifests are those before it.
  bool idempotent = true;  ///< The second run changed nothing.
  std::string words;       ///< Of a failure.
};

/// Both sides of a change that was applied.
struct Applied {
  ManifestSide before;
  ManifestSide after;
  ModuleGraph graph;                  ///< Of the after side.
  std::vector<ModuleTarget> targets;  ///< Exact versions. Empty for kinds go and patch.
  TidyEnding tidy;
  /// What `go mod tidy` makes of the before side's go.sum; asked where the change removes lines.
  std::optional<std::string> before_tidied_sum;
  std::vector<std::string> warnings;     ///< warnings_of() the go get.
  std::set<std::string> only_for_tools;  ///< Targets that no package and no test needs.
  bool may_replace = false;
  bool may_raise_go = false;
  bool gated = true;  ///< False for a patch: what its author wrote needs no explanation.
};

struct Assessment {
  NotAffected not_affected = NotAffected::none;
  std::vector<ModuleMove> moved;
  std::string go_before;
  std::string go_after;
  std::vector<GateFinding> gates;
  std::vector<Finding> notes;
  /// The after side is to be thrown away: nothing of the change is left in it (not_used).
  bool nothing_left = false;
};

[[nodiscard]] Assessment assess_change(const Applied& applied);

/// A finding of kind note; its key is its first word.
[[nodiscard]] Finding note(const std::string& message, const std::string& module = {});

/// True when a tool line names a package of the module and go.mod calls the module indirect: then
/// whether anything else needs it has to be asked.
[[nodiscard]] bool may_be_tool_only(const ModFile& mod, std::string_view module);

}  // namespace cupel::worker::change
