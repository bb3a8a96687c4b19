/// Pieces of the canonical form that have a file of their own. Private to common/campaign.
#pragma once

#include "common/campaign/campaign.hpp"

#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace cupel::campaign {

[[nodiscard]] nlohmann::json targets_json(const std::vector<ModuleTarget>& targets);
[[nodiscard]] nlohmann::json change_json(const Campaign& campaign);
[[nodiscard]] nlohmann::json scan_json(const ScanPlan& scan);
[[nodiscard]] std::string_view baseline_name(Baseline baseline);

}  // namespace cupel::campaign
