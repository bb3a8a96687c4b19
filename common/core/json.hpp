/// Values <-> JSON: the form in which the store keeps specs and results and in which the API and
/// reports show them. Keys are the field names; enums are their names; ids their text form ("" =
/// none); digests are hex ("" = none); times RFC 3339; an alternative says which it is in "type"
/// ("git", "bundle", "module"; "acquire_source", "acquire_modules", "execute", "no_op").
///
/// Writing replaces bytes that are no UTF-8. Reading leaves an absent member at its default and
/// passes over an unknown one: records of older and newer versions can be read.
#pragma once

#include "common/core/error.hpp"
#include "common/core/task.hpp"

#include <nlohmann/json_fwd.hpp>

namespace cupel {

[[nodiscard]] nlohmann::json to_json(const Source& value);
[[nodiscard]] nlohmann::json to_json(const UnitInfo& value);
[[nodiscard]] nlohmann::json to_json(const Change& value);
[[nodiscard]] nlohmann::json to_json(const ChangeFacts& value);
[[nodiscard]] nlohmann::json to_json(const ScanFacts& value);
[[nodiscard]] nlohmann::json to_json(const ToolFacts& value);
[[nodiscard]] nlohmann::json to_json(const ValidationSettings& value);
[[nodiscard]] nlohmann::json to_json(const TaskSpec& value);
[[nodiscard]] nlohmann::json to_json(const Finding& value);
[[nodiscard]] nlohmann::json to_json(const SourceFacts& value);
[[nodiscard]] nlohmann::json to_json(const ModuleFacts& value);
[[nodiscard]] nlohmann::json to_json(const CheckRecord& value);
[[nodiscard]] nlohmann::json to_json(const Evidence& value);
[[nodiscard]] nlohmann::json to_json(const LogRef& value);
[[nodiscard]] nlohmann::json to_json(const TaskResult& value);

// Errors: Errc::bad_value with the path of the member, such as "work.source.url".
[[nodiscard]] Result<Source> source_from_json(const nlohmann::json& json);
[[nodiscard]] Result<UnitInfo> unit_from_json(const nlohmann::json& json);
[[nodiscard]] Result<Change> change_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ChangeFacts> change_facts_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ScanFacts> scan_facts_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ToolFacts> tool_facts_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ValidationSettings> settings_from_json(const nlohmann::json& json);
[[nodiscard]] Result<TaskSpec> spec_from_json(const nlohmann::json& json);
[[nodiscard]] Result<Finding> finding_from_json(const nlohmann::json& json);
[[nodiscard]] Result<SourceFacts> source_facts_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ModuleFacts> module_facts_from_json(const nlohmann::json& json);
[[nodiscard]] Result<CheckRecord> check_from_json(const nlohmann::json& json);
[[nodiscard]] Result<Evidence> evidence_from_json(const nlohmann::json& json);
[[nodiscard]] Result<LogRef> log_from_json(const nlohmann::json& json);
[[nodiscard]] Result<TaskResult> result_from_json(const nlohmann::json& json);

}  // namespace cupel
