/// How a person repeats the runs of a unit by hand: the settings as data, and the same as commands.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>

namespace cupel::cli {

/// What the coordinator knows of one side of a unit, beside the unit itself.
struct SideEvidence {
  std::string side;  ///< "before" or "after"; a plain validation has only the first.
  json result;       ///< Of the side's first task; null: the unit's own checks are the side's.
  std::string mail;  ///< The change for `git am`; empty: there is none, or it is too large.
};

/// Why there is nothing to repeat of a side: a unit that was compared has it not. Empty: there is.
[[nodiscard]] std::string side_not_run(const json& unit, const std::string& side);

/// {unit, side, source, commit, tree, dir, patch, mail, image, limits, environment, network, user,
/// checks: [{check, name, command, exit_code, outcome}], ...} of a unit of docs/api.md.
[[nodiscard]] json reproduction(const json& unit, const json& document, const SideEvidence& of);

/// A shell script that makes the same runs with an engine's client. Every foreign word is quoted.
[[nodiscard]] std::string reproduction_script(const json& reproduction);

/// A word that a shell takes as it is.
[[nodiscard]] std::string shell_quoted(const std::string& word);

}  // namespace cupel::cli
