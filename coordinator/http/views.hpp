/// Records as the JSON of the API (docs/api.md). Pure.
#pragma once

#include "common/http/message.hpp"
#include "coordinator/core/machine.hpp"
#include "coordinator/ports/store.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace cupel::coordinator::http {

[[nodiscard]] nlohmann::json summary_view(const CampaignSummary& summary);
/// `record`: the deciding result as JSON, whole.
[[nodiscard]] nlohmann::json unit_view(const UnitResult& result, const nlohmann::json& record);
[[nodiscard]] nlohmann::json task_view(const TaskView& view, const std::optional<std::string>& why,
                                       nlohmann::json record);
[[nodiscard]] nlohmann::json dead_letter_view(const DeadLetterView& view);
[[nodiscard]] nlohmann::json explanation_view(const Explanation& explanation);
/// `state` as in the campaign's summary.
[[nodiscard]] nlohmann::json campaign_explanation_view(const CampaignExplanation& explanation,
                                                       std::string_view state);
/// Of what isn't open any more: `state` is a task's state or a unit's verdict.
[[nodiscard]] nlohmann::json over_view(const std::string& task, UnitId unit, CampaignId campaign,
                                       const std::string& state);
[[nodiscard]] nlohmann::json worker_view(const WorkerView& worker);

[[nodiscard]] cupel::http::Response json_response(unsigned status, const nlohmann::json& body);

/// Parses kept JSON; null for an empty or malformed text.
[[nodiscard]] nlohmann::json kept_json(const std::string& text);

/// `?limit=`: 1 to 200, default 200. Errors: bad_value.
[[nodiscard]] Result<std::uint32_t> page_limit(const cupel::http::Request& request);

}  // namespace cupel::coordinator::http
