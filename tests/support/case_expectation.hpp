/// Compares what Cupel answers for a case with the case's expect.json, in the sense of the format's
/// description. Pure; used by the recorded tests and by the fixture runner.
#pragma once

#include "common/core/error.hpp"
#include "common/core/finding.hpp"
#include "common/core/outcome.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

namespace cupel::cases {

struct Answer {
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::vector<Finding> findings;
};

/// A repository with several units has the worst outcome of them (failing, inconclusive, refused,
/// passing) and the findings of all.
[[nodiscard]] Answer combine(std::span<const Answer> units);

/// Any object with "outcome", "reason" and "findings" as the store and the API write them, such as
/// a task result. Errors: bad_value.
[[nodiscard]] Result<Answer> answer_from_json(const nlohmann::json& result);

/// "failing", "inconclusive:timeout".
[[nodiscard]] std::string outcome_text(Outcome outcome, Reason reason);

/// One line for each difference; empty = the answer agrees. Fields of the expectation that an
/// answer of this kind can't have (compare, upgrade fields) are not looked at.
[[nodiscard]] std::vector<std::string> differences(const nlohmann::json& expect,
                                                   const Answer& answer);

}  // namespace cupel::cases
