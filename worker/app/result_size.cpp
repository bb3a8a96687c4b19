#include "worker/app/result_size.hpp"

#include "common/core/json.hpp"
#include "common/core/limits.hpp"

#include <nlohmann/json.hpp>

namespace cupel::worker {
namespace {

std::size_t bytes_of(const Finding& finding) {
  constexpr std::size_t kFixed = 128;
  return kFixed + finding.package.size() + finding.test.size() + finding.analyzer.size() +
         finding.file.size() + finding.message.size() + finding.environment.size() +
         finding.key.size() + finding.signature.size();
}

}  // namespace

std::optional<std::string> fit_into_message(TaskResult& result) {
  std::size_t bytes = 0;
  std::size_t kept = 0;
  while (kept < result.findings.size() &&
         bytes + bytes_of(result.findings[kept]) <= kResultInlineFindingsBytesMax) {
    bytes += bytes_of(result.findings[kept]);
    kept += 1;
  }
  if (kept == result.findings.size()) return std::nullopt;
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& finding : result.findings) all.push_back(to_json(finding));
  result.findings.resize(kept);
  result.findings_truncated = true;
  result.evidence.notes.push_back(
      "findings cut for the message; all of them are the artifact 'findings'");
  return all.dump();
}

}  // namespace cupel::worker
