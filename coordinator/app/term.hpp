/// What exists only while this coordinator leads: the store's writer and what begins with it.
#pragma once

#include "coordinator/app/coordinator_metrics.hpp"
#include "coordinator/app/options.hpp"
#include "coordinator/app/retention.hpp"
#include "coordinator/core/machine.hpp"
#include "coordinator/fs/artifact_store.hpp"
#include "coordinator/sql/store.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace cupel::coordinator {

/// The two clocks of now.
[[nodiscard]] Now now_of_clocks();

struct Term {
  /// Prepares and reads the store; blocks as long as that takes. Errors: those of prepare_store()
  /// and recover().
  [[nodiscard]] static Result<std::unique_ptr<Term>> open(const Options& options,
                                                          const std::optional<sql::Leader>& leader,
                                                          CoordinatorMetrics& metrics);
  Term() = default;
  Term(const Term&) = delete;
  Term& operator=(const Term&) = delete;
  /// A batch that waits for a server fails; one for a file is committed.
  ~Term();

  /// Old records may go from now on. `artifacts` and `metrics` outlive this.
  void start_retention(const RetentionSettings& settings, fs::ArtifactStore& artifacts,
                       CoordinatorMetrics& metrics);

  std::optional<sql::Leader> leader;
  std::unique_ptr<sql::SqlWriter> writer;
  std::unique_ptr<sql::SqlReader> reader;  ///< Retention's, in the end.
  std::optional<Machine> machine;          ///< To be taken away.
  std::uint64_t last_event = 0;
  std::unique_ptr<Retention> retention;
};

}  // namespace cupel::coordinator
