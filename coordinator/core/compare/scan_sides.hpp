/// What the scans of both sides say about a change: for the record and for the patch's gates.
#pragma once

#include "coordinator/core/compare/facts.hpp"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace cupel::coordinator::compare {

/// Keeps the first conclusive scan of a side.
void note_scan(Book& book, Side side, const TaskResult& result);

/// Why a patch is withheld that the tests would let pass: a side was scanned and the other has no
/// conclusive scan (scan_inconclusive), they were made under other conditions (scan_not_bound),
/// the change brings advisories or makes known ones reachable (advisory_introduced), or, where the
/// module was upgraded because of them, some are still there (advisory_not_resolved). Empty for a
/// campaign that doesn't scan.
[[nodiscard]] std::vector<GateFinding> scan_gates(const Book& book);

/// {resolved, introduced, escalated, persisting}; null unless both sides have a scan.
[[nodiscard]] nlohmann::json scan_json(const Book& book);

}  // namespace cupel::coordinator::compare
