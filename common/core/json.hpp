/// Values <-> JSON: the form in which the store keeps specs and results and in which the API and
/// reports show them. Keys are the field names; enums are their names; ids their text form.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/core/error.hpp"
#include "common/core/task.hpp"

namespace cupel {

[[nodiscard]] nlohmann::json to_json(const Source& value);
[[nodiscard]] nlohmann::json to_json(const UnitInfo& value);
[[nodiscard]] nlohmann::json to_json(const ValidationSettings& value);
[[nodiscard]] nlohmann::json to_json(const TaskSpec& value);
[[nodiscard]] nlohmann::json to_json(const Finding& value);
[[nodiscard]] nlohmann::json to_json(const TaskResult& value);

// Errors: Errc::bad_value with the path of the member, such as "work.source.url".
[[nodiscard]] Result<Source> source_from_json(const nlohmann::json& json);
[[nodiscard]] Result<UnitInfo> unit_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ValidationSettings> settings_from_json(const nlohmann::json& json);
[[nodiscard]] Result<TaskSpec> spec_from_json(const nlohmann::json& json);
[[nodiscard]] Result<Finding> finding_from_json(const nlohmann::json& json);
[[nodiscard]] Result<TaskResult> result_from_json(const nlohmann::json& json);

}  // namespace cupel
