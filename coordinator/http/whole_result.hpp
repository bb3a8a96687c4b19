/// Results as they are shown: with all their findings.
#pragma once

#include "coordinator/fs/artifact_store.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace cupel::coordinator::http {

/// The JSON of a kept result. Findings that were too many for a message are read back from their
/// artifact; where that is gone, the first ones stay, marked as cut. Blocks: for a reader thread.
[[nodiscard]] nlohmann::json whole_result(const std::string& kept,
                                          const fs::ArtifactStore& artifacts);

}  // namespace cupel::coordinator::http
