#include "coordinator/http/whole_result.hpp"

#include "common/core/json.hpp"
#include "common/wire/codec.hpp"
#include "coordinator/http/views.hpp"

#include <nlohmann/json.hpp>

namespace cupel::coordinator::http {
namespace {

Result<void> bring_back(TaskResult& result, const fs::ArtifactStore& artifacts) {
  const auto size = artifacts.size(result.findings_artifact);
  if (!size) {
    return Error{.code = Errc::not_found,
                 .what = "the artifact sha256:" + result.findings_artifact.hex() + " is gone",
                 .detail = {},
                 .hint = {}};
  }
  const auto bytes = artifacts.read(result.findings_artifact, 0, *size);
  if (!bytes) return bytes.error();
  return wire::join_findings(result, *bytes);
}

}  // namespace

nlohmann::json whole_result(const std::string& kept, const fs::ArtifactStore& artifacts) {
  nlohmann::json record = kept_json(kept);
  if (!record.is_object()) return record;
  auto typed = result_from_json(record);
  if (!typed || typed->findings_artifact == Digest()) return record;
  if (const auto whole = bring_back(*typed, artifacts); !whole) {
    record["findings_truncated"] = true;
    record["evidence"]["notes"].push_back("not all findings can be shown: " + whole.error().what);
    return record;
  }
  nlohmann::json& findings = record["findings"] = nlohmann::json::array();
  for (const Finding& finding : typed->findings) findings.push_back(to_json(finding));
  return record;
}

}  // namespace cupel::coordinator::http
