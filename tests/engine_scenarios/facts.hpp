/// What a step of a scenario left, as names and texts that a file can compare.
#pragma once

#include "common/docker/client.hpp"
#include "worker/core/engine/run.hpp"
#include "worker/run/reaper.hpp"

#include <map>
#include <string>

namespace cupel::scenarios {

using Facts = std::map<std::string, std::string>;

[[nodiscard]] Facts facts_of_run(const worker::RunReport& report);
[[nodiscard]] Facts facts_of_reap(const Result<worker::ReapCounts>& counts);
/// "error" and "error_text".
void add_error(Facts& facts, const std::optional<Error>& error);
[[nodiscard]] std::string seconds_text(Duration time);
[[nodiscard]] inline std::string flag_text(bool flag) {
  return flag ? "true" : "false";
}

}  // namespace cupel::scenarios
