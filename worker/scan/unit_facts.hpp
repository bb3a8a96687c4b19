/// What a scan must know beside the scanner's stream: what a unit's go.mod requires, and what the
/// database says about those modules. Blocking; reads only.
#pragma once

#include "worker/core/scan/not_loaded.hpp"

#include <string>
#include <vector>

namespace cupel::worker {

/// `source`: the snapshot's host directory; `dir`: the unit's, below it. What can't be read is left
/// out: the notes are help, not proof.
[[nodiscard]] std::vector<scan::Required> read_required(const std::string& source,
                                                        const std::string& dir);

/// `database`: a checked one, as ScanStore gives it.
[[nodiscard]] scan::Advisories read_advisories(const std::string& database,
                                               const std::vector<scan::Required>& required);

}  // namespace cupel::worker
