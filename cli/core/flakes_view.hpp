/// The flake registry as text: problems that came and went between runs of the same code.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>
#include <vector>

namespace cupel::cli {

/// `flakes`: entries of GET /api/v1/flakes. A table, the newest first as they come, and a line that
/// sums them; one sentence where there are none. `columns` > 0 fits a terminal.
[[nodiscard]] std::string flakes_table(const std::vector<json>& flakes, std::size_t columns);

}  // namespace cupel::cli
