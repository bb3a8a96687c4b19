#include "worker/app/worker_metrics.hpp"

#include <chrono>

namespace cupel::worker {
namespace {

constexpr std::array<std::string_view, 22> kCalls = {
    "ping",         "version",       "info",          "create",         "attach",
    "start",        "wait",          "kill",          "logs",           "inspect",
    "remove",       "list",          "image_inspect", "image_list",     "image_import",
    "image_pull",   "image_tag",     "image_remove",  "network_create", "network_inspect",
    "network_list", "network_remove"};
constexpr std::array kFailures = {docker::CallOutcome::refused, docker::CallOutcome::timeout,
                                  docker::CallOutcome::unreachable, docker::CallOutcome::protocol,
                                  docker::CallOutcome::cancelled};
constexpr std::array<std::string_view, 3> kPostRunCalls = {"kill", "logs", "remove"};
constexpr std::array kKills = {
    std::pair{EndedBy::check_limit, std::string_view("timeout")},
    std::pair{EndedBy::wrapper_limit, std::string_view("wrapper_timeout")},
    std::pair{EndedBy::cancelled, std::string_view("cancel")},
    std::pair{EndedBy::watcher_disk, std::string_view("disk")}};
constexpr std::array<std::string_view, 3> kOrphans = {"own", "foreign", "gone"};

constexpr const char* kEgressRefusedHelp = "Requests that the egress proxy refused";

double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
double count(std::uint64_t value) {
  return static_cast<double>(value);
}
std::string text(std::string_view value) {
  return std::string(value);
}

constexpr const char* kCallsHelp = "Engine calls made";
constexpr const char* kFailuresHelp = "Engine calls that failed";
constexpr const char* kDurationHelp = "Time of engine calls, without wait";
constexpr const char* kExhaustedHelp = "Post-run calls that used up their own budget";
constexpr const char* kRunHelp = "Containers from create to remove";
constexpr const char* kBreakHelp = "Waits for a container that the engine cut and that went on";
constexpr const char* kKillHelp = "Containers ended by the worker";
constexpr const char* kTruncatedHelp = "Streams that were cut at the output limit";
constexpr const char* kStartedHelp = "Attempts started";
constexpr const char* kFinishedHelp = "Attempts finished";
constexpr const char* kOrphanHelp = "Containers removed by the reaper, or seen gone";

}  // namespace

WorkerMetrics::WorkerMetrics(app::Metrics& base, const docker::EngineBudgets& budgets)
    : base_(base) {
  for (const auto call : kCalls) {
    base_.counter("cupel_engine_calls_total", kCallsHelp, {{"call", text(call)}});
    if (call != "wait") {
      base_.histogram("cupel_engine_call_duration_seconds", kDurationHelp, app::engine_buckets(),
                      {{"call", text(call)}});
    }
    for (const auto failure : kFailures) {
      base_.counter("cupel_engine_call_failures_total", kFailuresHelp,
                    {{"call", text(call)}, {"reason", text(docker::name(failure))}});
    }
  }
  for (const auto call : kPostRunCalls) {
    base_.counter("cupel_postrun_budget_exhausted_total", kExhaustedHelp, {{"call", text(call)}});
    const Duration budget = call == "kill"   ? budgets.kill
                            : call == "logs" ? budgets.logs
                                             : budgets.remove;
    base_.gauge("cupel_postrun_budget_seconds", "Budget of a post-run call", {{"call", text(call)}})
        .Set(in_seconds(budget));
  }
  for (const auto profile : {Profile::acquire, Profile::mutate, Profile::execute, Profile::tool}) {
    base_.histogram("cupel_container_run_seconds", kRunHelp, app::run_buckets(),
                    {{"kind", text(name(profile))}});
  }
  base_.counter("cupel_engine_wait_breaks_total", kBreakHelp);
  for (const auto& [ended, reason] : kKills) {
    base_.counter("cupel_container_kills_total", kKillHelp, {{"reason", text(reason)}});
  }
  for (const auto stream : {Stream::out, Stream::err}) {
    base_.counter("cupel_output_truncated_total", kTruncatedHelp, {{"stream", text(name(stream))}});
  }
  for (std::size_t k = 0; k < count_of<TaskKind>(); ++k) {
    const auto kind = text(name(static_cast<TaskKind>(k)));
    base_.counter("cupel_worker_attempts_started_total", kStartedHelp, {{"kind", kind}});
    for (std::size_t o = 0; o < count_of<Outcome>(); ++o) {
      base_.counter("cupel_worker_attempts_finished_total", kFinishedHelp,
                    {{"kind", kind}, {"outcome", text(name(static_cast<Outcome>(o)))}});
    }
    base_.counter("cupel_worker_attempts_finished_total", kFinishedHelp,
                  {{"kind", kind}, {"outcome", "interrupted"}});
  }
  for (const auto kind : kOrphans) {
    base_.counter("cupel_orphans_reaped_total", kOrphanHelp, {{"kind", text(kind)}});
  }
  reaper_pass({}, false, WallTime{});
  base_.counter("cupel_orphan_sweep_failures_total",
                "Reaper passes that could not list containers");
  base_.counter("cupel_mount_probes_total", "Mount probes made");
  base_.counter("cupel_mount_probe_failures_total", "Mount probes that failed");
  base_.counter("cupel_module_cache_requests_total", "Module caches asked for");
  base_.counter("cupel_module_cache_hits_total", "Module caches that were there already");
  download_cache({}, 0);
  base_.counter("cupel_build_cache_dirs_removed_total", "Build caches removed",
                {{"method", "host"}});
  base_.counter("cupel_build_cache_dirs_removed_total", "Build caches removed",
                {{"method", "container"}});
  base_.counter("cupel_worker_log_bytes_uploaded_total", "Bytes of logs sent to the coordinator");
  for (std::size_t why = 0; why < egress::kRefusedCount; ++why) {
    base_.counter("cupel_egress_refused_total", kEgressRefusedHelp,
                  {{"reason", text(egress::name(static_cast<egress::Refused>(why)))}});
  }
  egress_bytes(0);
  egress_enforced(false);
  upstream_paused(false);
  agent({}, WallTime{});
  data_dir(0, 0);
  outbox({});
  containers_running(0);
  containers_unremoved(0);
  engine_up(false);
}

void WorkerMetrics::engine_call(const docker::CallObservation& call) {
  base_.counter("cupel_engine_calls_total", kCallsHelp, {{"call", text(call.call)}}).Increment();
  if (call.call != "wait") {
    base_
        .histogram("cupel_engine_call_duration_seconds", kDurationHelp, app::engine_buckets(),
                   {{"call", text(call.call)}})
        .Observe(in_seconds(call.elapsed));
  }
  if (call.outcome == docker::CallOutcome::ok) return;
  base_
      .counter("cupel_engine_call_failures_total", kFailuresHelp,
               {{"call", text(call.call)}, {"reason", text(docker::name(call.outcome))}})
      .Increment();
  if (call.outcome != docker::CallOutcome::timeout) return;
  for (const auto post_run : kPostRunCalls) {
    if (call.call == post_run) {
      base_
          .counter("cupel_postrun_budget_exhausted_total", kExhaustedHelp,
                   {{"call", text(post_run)}})
          .Increment();
    }
  }
}

void WorkerMetrics::run_ended(const RunObservation& run) {
  base_
      .histogram("cupel_container_run_seconds", kRunHelp, app::run_buckets(),
                 {{"kind", text(name(run.profile))}})
      .Observe(in_seconds(run.wall));
  base_.counter("cupel_engine_wait_breaks_total", kBreakHelp).Increment(run.wait_breaks);
  for (const auto& [ended, reason] : kKills) {
    if (run.ended_by == ended) {
      base_.counter("cupel_container_kills_total", kKillHelp, {{"reason", text(reason)}})
          .Increment();
    }
  }
}

void WorkerMetrics::output_truncated(Stream stream) {
  base_.counter("cupel_output_truncated_total", kTruncatedHelp, {{"stream", text(name(stream))}})
      .Increment();
}

void WorkerMetrics::attempt_started(TaskKind kind) {
  base_.counter("cupel_worker_attempts_started_total", kStartedHelp, {{"kind", text(name(kind))}})
      .Increment();
}

void WorkerMetrics::attempt_finished(TaskKind kind, Outcome outcome, Ending ending) {
  const auto word = ending == Ending::completed ? text(name(outcome)) : std::string("interrupted");
  base_
      .counter("cupel_worker_attempts_finished_total", kFinishedHelp,
               {{"kind", text(name(kind))}, {"outcome", word}})
      .Increment();
}

void WorkerMetrics::reaper_pass(const ReapCounts& counts, bool failed, WallTime at) {
  const auto add = [&](std::string_view kind, std::uint64_t n) {
    base_.counter("cupel_orphans_reaped_total", kOrphanHelp, {{"kind", text(kind)}})
        .Increment(count(n));
  };
  add("own", counts.removed - counts.removed_foreign);
  add("foreign", counts.removed_foreign);
  add("gone", counts.gone);
  base_.gauge("cupel_orphans_present", "Orphans seen at the last sweep and not yet removed")
      .Set(count(counts.failed));
  if (failed) {
    base_
        .counter("cupel_orphan_sweep_failures_total",
                 "Reaper passes that could not list containers")
        .Increment();
    return;
  }
  base_.gauge("cupel_orphan_sweep_last_success_timestamp_seconds", "When the last sweep ended well")
      .Set(static_cast<double>(at.us) / 1e6);
}

void WorkerMetrics::mount_probe(bool ok) {
  base_.counter("cupel_mount_probes_total", "Mount probes made").Increment();
  if (!ok)
    base_.counter("cupel_mount_probe_failures_total", "Mount probes that failed").Increment();
}

void WorkerMetrics::module_cache(bool hit) {
  base_.counter("cupel_module_cache_requests_total", "Module caches asked for").Increment();
  if (hit)
    base_.counter("cupel_module_cache_hits_total", "Module caches that were there already")
        .Increment();
}

void WorkerMetrics::download_cache(const FillCounts& counts, std::uint64_t cache_bytes) {
  base_
      .counter("cupel_download_cache_fills_total",
               "Versions of modules added to the download cache")
      .Increment(count(counts.versions));
  base_.counter("cupel_download_cache_filled_bytes_total", "Bytes added to the download cache")
      .Increment(count(counts.bytes));
  const auto refused = [&](const char* reason, std::uint64_t n) {
    base_
        .counter(
            "cupel_download_cache_refusals_total",
            "What was not added to the download cache: changed (not what the checksum database "
            "says), forged (answers of the database that prove nothing), unknown (to the "
            "database, or too large), failed (no answer, or the disk)",
            {{"reason", reason}})
        .Increment(count(n));
  };
  refused("changed", counts.changed);
  refused("forged", counts.forged);
  refused("unknown", counts.unknown);
  refused("failed", counts.failed);
  base_.gauge("cupel_download_cache_bytes", "Bytes in the download cache").Set(count(cache_bytes));
}

void WorkerMetrics::build_cache_removed(bool by_host) {
  base_
      .counter("cupel_build_cache_dirs_removed_total", "Build caches removed",
               {{"method", by_host ? "host" : "container"}})
      .Increment();
}

void WorkerMetrics::log_uploaded(std::uint64_t bytes) {
  base_.counter("cupel_worker_log_bytes_uploaded_total", "Bytes of logs sent to the coordinator")
      .Increment(count(bytes));
}

void WorkerMetrics::egress_refused(egress::Refused why) {
  base_
      .counter("cupel_egress_refused_total", kEgressRefusedHelp,
               {{"reason", text(egress::name(why))}})
      .Increment();
}

void WorkerMetrics::egress_bytes(std::uint64_t bytes) {
  base_.counter("cupel_egress_bytes_total", "Bytes that the egress proxy carried, both ways")
      .Increment(count(bytes));
}

void WorkerMetrics::egress_enforced(bool enforced) {
  base_
      .gauge("cupel_egress_enforced",
             "1 where the host holds runs to the module proxy, 0 where only configuration does")
      .Set(enforced ? 1 : 0);
}

void WorkerMetrics::upstream_paused(bool paused) {
  base_
      .gauge("cupel_upstream_paused",
             "1 while the module proxies fail and work that needs them waits")
      .Set(paused ? 1 : 0);
}

void WorkerMetrics::agent(const AgentStatus& status, WallTime last_contact) {
  base_.gauge("cupel_worker_slots", "Tasks that this worker takes at once")
      .Set(count(status.slots));
  base_.gauge("cupel_worker_slots_used", "Attempts that run").Set(count(status.running));
  base_.gauge("cupel_worker_draining", "1 while no new task is taken").Set(status.draining ? 1 : 0);
  base_
      .gauge("cupel_worker_coordinator_last_contact_timestamp_seconds",
             "Last message from the coordinator; 0 none")
      .Set(static_cast<double>(last_contact.us) / 1e6);
  base_.gauge("cupel_worker_session_up", "1 while the coordinator knows this worker's session")
      .Set(status.session == SessionState::ready ? 1 : 0);
}

void WorkerMetrics::data_dir(std::uint64_t free_bytes, std::uint64_t used_bytes) {
  base_.gauge("cupel_data_dir_free_bytes", "Free space below the data directory")
      .Set(count(free_bytes));
  base_.gauge("cupel_data_dir_size_bytes", "Space that snapshots and module caches take")
      .Set(count(used_bytes));
}

void WorkerMetrics::outbox(const Outbox::Size& size) {
  base_.gauge("cupel_worker_outbox_results", "Results that wait for their acknowledgement")
      .Set(count(size.results));
  base_.gauge("cupel_worker_outbox_bytes", "Bytes of results that wait").Set(count(size.bytes));
}

void WorkerMetrics::containers_running(std::size_t n) {
  base_.gauge("cupel_containers_running", "Containers of this worker").Set(static_cast<double>(n));
}

void WorkerMetrics::containers_unremoved(std::size_t n) {
  base_
      .gauge("cupel_containers_unremoved",
             "Containers that could not be removed so far; each takes the place of a task")
      .Set(static_cast<double>(n));
}

void WorkerMetrics::engine_up(bool up) {
  base_.gauge("cupel_engine_up", "1 when the last ping of the engine was answered").Set(up ? 1 : 0);
}

}  // namespace cupel::worker
