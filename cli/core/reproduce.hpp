/// How a person repeats the runs of a unit by hand: the settings as data, and the same as commands.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>

namespace cupel::cli {

/// {unit, commit, image, limits, environment, network, user, mounts, checks: [{check, command,
/// directory}]} of a unit of docs/api.md. `side` is "before" or "after"; a plain validation has
/// only the first.
[[nodiscard]] json reproduction(const json& unit, const json& document, const std::string& side);

/// A shell script that makes the same runs with an engine's client. Every foreign word is quoted.
[[nodiscard]] std::string reproduction_script(const json& reproduction);

/// A word that a shell takes as it is.
[[nodiscard]] std::string shell_quoted(const std::string& word);

}  // namespace cupel::cli
