/// The gate of a campaign: what its units' verdicts mean for the exit code.
#pragma once

#include "cli/core/report_data.hpp"

#include <string>

namespace cupel::cli {

struct GateAnswer {
  int exit_code = 0;
  std::string sentence;  ///< "gate passed", "gate failed: 2 failing".
};

/// By `gate` of the document (defaults of the grammar where it is not known). A campaign that was
/// cancelled or has open units passes no gate: exit code 1.
[[nodiscard]] GateAnswer judge_gate(const ReportData& data);

}  // namespace cupel::cli
