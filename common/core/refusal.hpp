/// Why content is not taken: the answer about a repository that can't be read, shown as a unit's
/// outcome.
#pragma once

#include "common/core/finding.hpp"
#include "common/core/outcome.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cupel {

/// An answer, not an error of ours: `reason` decides between refused and inconclusive (class_of()).
/// `message` is one line that names the path or ref; `findings` hold at least one entry.
struct SourceRefusal {
  Reason reason = Reason::none;
  std::string message;
  std::vector<Finding> findings;
};

/// A refusal with one finding that carries the same words.
[[nodiscard]] inline SourceRefusal refusal(Reason reason, FindingKind kind, std::string message,
                                           std::string file = {}, std::int32_t line = 0) {
  Finding finding;
  finding.kind = kind;
  finding.check = CheckKind::list;
  finding.file = std::move(file);
  finding.line = line;
  finding.message = message;
  return {reason, std::move(message), {std::move(finding)}};
}

}  // namespace cupel
