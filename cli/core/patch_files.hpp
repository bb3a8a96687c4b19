/// The files of `cupel patches`: which names are taken, and which of an earlier call are none now.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::cli {

/// A name from the coordinator that stays in the folder it is written to.
[[nodiscard]] bool is_plain_name(std::string_view name);

/// Patches that `earlier`, the manifest.json that lies in the folder, names and `now` doesn't: of
/// another campaign, or withheld by now. Whoever applies all that is in the folder must not meet
/// them. Files that no manifest names are somebody else's.
[[nodiscard]] std::vector<std::string> stale_patches(const json& earlier, const json& now);

}  // namespace cupel::cli
