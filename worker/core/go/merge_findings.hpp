/// The findings of all checks of a unit together, each problem once.
#pragma once

#include "common/core/finding.hpp"

#include <vector>

namespace cupel::worker::go {

struct SaidByCheck {
  CheckKind check = CheckKind::test;
  std::vector<Finding> findings;  ///< Identified (keys.hpp).
};

/// Several checks report one problem: go test's word is kept, as it knows most about packages, but
/// for vet's own findings, whose analyzer only vet names. At most kFindingsPerResultMax and one
/// more.
[[nodiscard]] std::vector<Finding> merge_findings(std::vector<SaidByCheck> all);

}  // namespace cupel::worker::go
