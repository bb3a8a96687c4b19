/// Why content is not taken: the answer about a repository that can't be read, shown as a unit's outcome.
#pragma once

#include <string>
#include <vector>

#include "common/core/finding.hpp"
#include "common/core/outcome.hpp"

namespace cupel {

/// An answer, not an error of ours: `reason` decides between refused and inconclusive (class_of()).
/// `message` is one line that names the path or ref; `findings` hold at least one entry.
struct SourceRefusal {
  Reason reason = Reason::none;
  std::string message;
  std::vector<Finding> findings;
};

}  // namespace cupel
