/// The vulnerability database that the coordinator's configuration names, as an artifact.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/core/error.hpp"
#include "coordinator/fs/artifact_store.hpp"

#include <chrono>
#include <mutex>
#include <string>

namespace cupel::coordinator::fs {

/// Blocking (a folder, a file, or one request of at most two minutes); any thread, one at a time.
class ScanDatabase {
 public:
  /// `place`: folder, archive or URL; empty = none is configured. The store outlives this object.
  ScanDatabase(std::string place, ArtifactStore& artifacts)
      : place_(std::move(place)), artifacts_(artifacts) {}

  [[nodiscard]] bool configured() const { return !place_.empty(); }
  /// Fills the plan's snapshot, or its problem. A snapshot serves the campaigns of a quarter of an
  /// hour, then it is taken anew. Errors: those of the artifact store.
  [[nodiscard]] Result<void> fill(campaign::ScanPlan& plan);

 private:
  std::string place_;
  ArtifactStore& artifacts_;
  std::mutex mutex_;
  std::optional<campaign::ScanSnapshot> latest_;
  std::chrono::steady_clock::time_point taken_;
};

}  // namespace cupel::coordinator::fs
