/// Failures that units have in common: which cause each unit without a good end is counted under.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>
#include <vector>

namespace cupel::cli {

/// One cause that a unit may share with others.
struct Cause {
  std::string name;     ///< "dependency:M@V", a finding's signature, or "reason:R".
  std::string kind;     ///< Finding kind, or the reason where there is no finding.
  std::string message;  ///< One line.
  std::string excerpt;  ///< As of Group.
};

/// True for units that count in the groups: failing, regressed, changed_failure, inconclusive and
/// refused. What failed before as well (broken_before) is no news.
[[nodiscard]] bool has_failed(const json& unit);

/// Why a unit failed, without repetition; empty for one that has not. Of a unit that was compared:
/// the version of the dependency behind each confirmed difference, and its signature. Else, or
/// where nothing was confirmed: of its findings; without any the reason, so no failed unit is left
/// without a cause. The upgrade that a search has found to be the culprit is one as well, and so is
/// a unit's only upgrade where units of the campaign have different ones (`upgrades_differ`).
[[nodiscard]] std::vector<Cause> causes_of(const json& unit, bool upgrades_differ = false);

/// Failures with one cause.
struct Group {
  std::string id;                  ///< "G1", the largest first.
  std::string kind;                ///< Of its cause.
  std::string message;             ///< Likewise.
  std::string signature;           ///< The name of its cause.
  std::vector<std::string> units;  ///< Names, sorted; one for each unit.
  std::string excerpt;             ///< What one of them, `example`, printed: some lines.
  std::string example;             ///< A unit's name.
};

/// "M@V" where a version of a dependency is the cause; else empty.
[[nodiscard]] std::string dependency_of(const Group& group);

/// Every failed unit is in exactly one group, so the counts add up to the number of failed units.
/// The cause that most of the units have is the first group, with all of them; then the same among
/// those that are left. Of equally frequent ones a dependency goes before a finding.
[[nodiscard]] std::vector<Group> group_failures(const std::vector<json>& results);

}  // namespace cupel::cli
