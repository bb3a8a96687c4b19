/// Lets old records go: events, and artifacts that no open campaign can need.
#pragma once

#include "common/core/time.hpp"
#include "coordinator/app/coordinator_metrics.hpp"
#include "coordinator/app/options.hpp"
#include "coordinator/fs/artifact_store.hpp"
#include "coordinator/sql/store.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace cupel::coordinator {

/// A thread of its own, since it reads the store and walks directories; the first pass is at once.
class Retention {
 public:
  /// All outlive it; the reader is its own.
  Retention(RetentionSettings settings, sql::SqlWriter& writer,
            std::unique_ptr<sql::SqlReader> reader, fs::ArtifactStore& artifacts,
            CoordinatorMetrics& metrics);
  /// Waits for the pass that runs: at most a slice of events and one file.
  ~Retention();
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;
  /// What it reads from a server fails now.
  void cut() { reader_->cut(); }

 private:
  void run();
  void pass();
  [[nodiscard]] Result<void> expire_events(WallTime before);
  [[nodiscard]] Result<void> expire_artifacts(WallTime now);
  [[nodiscard]] bool stopped();

  RetentionSettings settings_;
  sql::SqlWriter& writer_;
  std::unique_ptr<sql::SqlReader> reader_;
  fs::ArtifactStore& artifacts_;
  CoordinatorMetrics& metrics_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace cupel::coordinator
