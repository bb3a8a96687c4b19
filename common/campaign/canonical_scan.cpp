#include "common/campaign/canonical_parts.hpp"
#include "common/text/units.hpp"

#include <chrono>

namespace cupel::campaign {

nlohmann::json scan_json(const ScanPlan& scan) {
  if (!scan.enabled) return {{"enabled", false}};
  nlohmann::json out = {{"enabled", true},
                        {"database", scan.database},
                        {"timeout", text::format_duration(std::chrono::seconds(scan.limit_s))}};
  if (scan.snapshot) {
    out["snapshot"] = {{"artifact", scan.snapshot->artifact.hex()},
                       {"id", scan.snapshot->id},
                       {"time", scan.snapshot->time}};
  }
  if (scan.problem != Reason::none) {
    out["refused"] = {{"reason", name(scan.problem)}, {"message", scan.message}};
  }
  return out;
}

}  // namespace cupel::campaign
