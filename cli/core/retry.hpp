/// A campaign over just some units of an earlier one, and the two sets of results as one.
#pragma once

#include "cli/core/report_data.hpp"
#include "common/core/error.hpp"

#include <string>
#include <vector>

namespace cupel::cli {

/// The campaign file (JSON) that asks the same of the units with one of `verdicts`, each repository
/// pinned to the commit that was tested. Errors: no_repositories when no unit has one of them,
/// bad_value when the document isn't known.
[[nodiscard]] Result<json> retry_document(const ReportData& earlier,
                                          const std::vector<std::string>& verdicts);

/// The later campaign with the earlier one's units that it didn't run again.
[[nodiscard]] ReportData merged(const ReportData& earlier, ReportData later);

}  // namespace cupel::cli
