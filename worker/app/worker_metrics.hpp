/// What a worker exports: the verbs of its life, the names in one place. Every label set is created
/// at start. Thread-safe.
#pragma once

#include "common/app/metrics.hpp"
#include "common/docker/client.hpp"
#include "worker/core/agent/agent.hpp"
#include "worker/core/egress/request.hpp"
#include "worker/downloads/module_fill.hpp"
#include "worker/outbox/outbox.hpp"
#include "worker/run/reaper.hpp"
#include "worker/run/run_executor.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cupel::worker {

class WorkerMetrics {
 public:
  explicit WorkerMetrics(app::Metrics& base, const docker::EngineBudgets& budgets);

  void engine_call(const docker::CallObservation& call);
  void run_ended(const RunObservation& run);
  void output_truncated(Stream stream);
  void attempt_started(TaskKind kind);
  void attempt_finished(TaskKind kind, Outcome outcome, Ending ending);
  void reaper_pass(const ReapCounts& counts, bool failed, WallTime at);
  void mount_probe(bool ok);
  void module_cache(bool hit);
  /// On the download cache's thread.
  void download_cache(const FillCounts& counts, std::uint64_t cache_bytes);
  void build_cache_removed(bool by_host);
  void log_uploaded(std::uint64_t bytes);
  /// Both on the egress proxy's thread.
  void egress_refused(egress::Refused why);
  void egress_bytes(std::uint64_t bytes);

  /// Gauges, as they are now.
  void agent(const AgentStatus& status, WallTime last_contact);
  void data_dir(std::uint64_t free_bytes, std::uint64_t used_bytes);
  void outbox(const Outbox::Size& size);
  void containers_running(std::size_t count);
  void containers_unremoved(std::size_t count);
  void engine_up(bool up);
  void egress_enforced(bool enforced);
  void upstream_paused(bool paused);

 private:
  app::Metrics& base_;
};

}  // namespace cupel::worker
