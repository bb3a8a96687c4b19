/// What a change did to the advisories of a unit: two conclusive scans side by side.
#pragma once

#include "common/core/scan.hpp"

#include <vector>

namespace cupel {

/// Every advisory of either side is in exactly one list, each sorted by module and osv. Entries of
/// `resolved` are the before side's, all others the after side's.
struct ScanDifference {
  std::vector<Vulnerability> resolved;    ///< Gone at every level.
  std::vector<Vulnerability> introduced;  ///< New at any level.
  std::vector<Vulnerability> escalated;   ///< The level rose: now imported, or now called.
  std::vector<Vulnerability> persisting;  ///< Still there, at the same level or a lower one.
};

/// Why two scans must not be compared: another scanner, database or Go version. Empty when they
/// may.
[[nodiscard]] std::string why_incomparable(const ScanFacts& before, const ScanFacts& after);

/// The Go version is allowed to differ (why_incomparable() is the caller's question): a campaign
/// that changes it wants to know what that did.
[[nodiscard]] ScanDifference compare_scans(const ScanFacts& before, const ScanFacts& after);

}  // namespace cupel
