/// From a tree to its units: one for every go.mod that the go command would see as a module. Pure.
#pragma once

#include "common/core/refusal.hpp"
#include "common/core/task.hpp"
#include "common/gitfmt/object.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::worker {

/// A tree with the content that discovery asks for.
struct SourceView {
  std::vector<gitfmt::TreeEntry> entries;  ///< Admitted, sorted by path.
  std::map<std::string, std::string>
      manifests;                             ///< Path to content, for what wants_content() names.
  std::map<std::string, std::string> links;  ///< Path to target, every link of the tree.
  /// False for a module's zip: it may hold vendor/modules.txt, never what that lists.
  bool has_vendored_code = true;
};

/// True for regular files whose content discover_units() reads: go.mod, go.work, .gitmodules.
[[nodiscard]] bool wants_content(std::string_view path);

/// The units in the order of their directories. What is wrong with one unit is in its outcome,
/// reason and findings (manifest_is_symlink, bad_go_mod, replace_outside_repo, bad_go_work,
/// work_outside_repo); what is wrong with all of them is the refusal: no_go_mod, snapshot_too_large
/// (more than 200 units).
///
/// `subdirs`: only units in or below these directories ("." = the root); empty = all.
[[nodiscard]] std::variant<std::vector<UnitInfo>, SourceRefusal> discover_units(
    const SourceView& view, const std::vector<std::string>& subdirs);

/// `dir` joined with a path relative to it, both below the root and '/'-separated; nothing when the
/// result leaves the root. "." is the root.
[[nodiscard]] std::optional<std::string> join_beneath(std::string_view dir,
                                                      std::string_view relative);

}  // namespace cupel::worker
