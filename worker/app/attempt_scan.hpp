/// What an execute attempt needs before it can scan.
#pragma once

#include "worker/core/go/judge.hpp"

#include <string>

namespace cupel::worker {

struct PreparedScan {
  ScanContext context;
  std::string tools;  ///< Host directories; empty with a problem.
  std::string vulndb;
};

}  // namespace cupel::worker
