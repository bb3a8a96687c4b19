#include "coordinator/app/coordinator_metrics.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

// In the order of ToCoordinator and ToWorker.
constexpr std::array kReceivedTypes = {"hello", "heartbeat", "result", "log_tail", "goodbye"};
constexpr std::array kSentTypes = {"welcome",    "refuse",      "lease", "heartbeat_ack",
                                   "result_ack", "cancel_task", "drain", "hello_again"};
static_assert(kReceivedTypes.size() == kFromWorkerTypes && kSentTypes.size() == kToWorkerTypes);
constexpr std::array kCodes = {"2xx", "3xx", "4xx", "5xx"};

double as_double(std::uint64_t value) {
  return static_cast<double>(value);
}

template <typename Enum>
std::string label_of(std::size_t index) {
  return std::string(name(static_cast<Enum>(index)));
}

}  // namespace

CoordinatorMetrics::CoordinatorMetrics(app::Metrics& base) : base_(base) {
  make_task_metrics();
  make_fleet_metrics();
  make_bus_metrics();
  make_store_and_http_metrics();
  make_retention_metrics();
}

CoordinatorMetrics::Followed CoordinatorMetrics::followed(const std::string& name,
                                                          const std::string& help,
                                                          const prometheus::Labels& labels) {
  return {&base_.counter(name, help, labels), 0};
}

void CoordinatorMetrics::make_task_metrics() {
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    const prometheus::Labels labels = {{"kind", label_of<TaskKind>(kind)}};
    queued_[kind] =
        &base_.gauge("cupel_tasks_queued", "Tasks that are ready and wait for a slot", labels);
    running_[kind] = &base_.gauge("cupel_tasks_running", "Tasks leased to workers", labels);
    queue_wait_[kind] = &base_.histogram("cupel_task_queue_wait_seconds", "Ready until leased",
                                         app::wait_buckets(), labels);
    run_[kind] = &base_.histogram("cupel_task_run_seconds", "Leased until the result was accepted",
                                  app::run_buckets(), labels);
    for (std::size_t outcome = 0; outcome < kOutcomes; ++outcome) {
      completed_[kind][outcome] =
          followed("cupel_tasks_completed_total", "Tasks whose result was accepted",
                   {{"kind", label_of<TaskKind>(kind)}, {"outcome", label_of<Outcome>(outcome)}});
    }
  }
  blocked_ = &base_.gauge("cupel_tasks_blocked", "Tasks that wait for an earlier task or a pause");
  oldest_ = &base_.gauge("cupel_queue_oldest_task_timestamp_seconds",
                         "When the oldest ready task became ready; 0 = queue empty");
  for (const char* reason : {"worker_lost", "infra_error", "lost_workspace", "timeout", "upstream",
                             "undelivered", "overrun"}) {
    retries_[reason] =
        followed("cupel_task_retries_total", "Tasks put back into the queue", {{"reason", reason}});
  }
  for (const char* what : {"renewal", "result", "log"}) {
    fenced_[what] = followed("cupel_fenced_messages_total",
                             "Messages with a token that is not the live one", {{"type", what}});
  }
  dead_letters_ = followed("cupel_dead_letters_total", "Tasks that used up a budget");
  baselines_reused_ =
      followed("cupel_baselines_reused_total", "Before sides taken over from earlier campaigns");
  for (const char* how : {"replayed", "dropped"}) {
    letters_handled_[how] = followed("cupel_dead_letters_handled_total",
                                     "Dead letters by what people did with them", {{"how", how}});
  }
  for (std::size_t verdict = 0; verdict < kVerdicts; ++verdict) {
    units_[verdict] = followed("cupel_units_finished_total", "Units with a verdict",
                               {{"verdict", label_of<Verdict>(verdict)}});
  }
}

void CoordinatorMetrics::make_fleet_metrics() {
  const char* campaigns = "Campaigns that are not finished";
  campaigns_running_ = &base_.gauge("cupel_campaigns_active", campaigns, {{"state", "running"}});
  campaigns_paused_ = &base_.gauge("cupel_campaigns_active", campaigns, {{"state", "paused"}});
  campaigns_finished_ =
      followed("cupel_campaigns_finished_total", "Campaigns that ended", {{"result", "finished"}});
  campaigns_cancelled_ =
      followed("cupel_campaigns_finished_total", "Campaigns that ended", {{"result", "cancelled"}});
  slots_ = &base_.gauge("cupel_fleet_slots", "Slots that connected workers offer");
  slots_used_ = &base_.gauge("cupel_fleet_slots_used", "Slots with a task");
  slots_wanted_ =
      &base_.gauge("cupel_fleet_slots_wanted", "Slots that all ready and running tasks would take");
  for (const char* state : {"idle", "busy", "draining", "blocked", "quarantined", "lost"}) {
    workers_[state] = &base_.gauge("cupel_workers", "Known workers", {{"state", state}});
  }
  for (const char* by : {"operator", "fleet"}) {
    quarantines_[by] = followed("cupel_worker_quarantines_total",
                                "Workers put into quarantine, without failed probes", {{"by", by}});
  }
  releases_ = followed("cupel_worker_releases_total", "Workers that came out of quarantine");
  for (const char* result : {"passed", "failed", "lost"}) {
    probes_[result] = followed("cupel_worker_probes_total",
                               "Probes of workers in quarantine; lost: the session ended first",
                               {{"result", result}});
  }
  workers_lost_ =
      followed("cupel_workers_lost_total", "Workers silent for a whole lease without a goodbye");
  leases_expired_ = followed("cupel_leases_expired_total", "Leases that ended without a renewal");
  leases_renewed_ = followed("cupel_leases_renewed_total", "Renewals of live leases");
  leases_overrun_ =
      followed("cupel_leases_overrun_total",
               "Leases taken back because they were renewed beyond their task's limit");
  for (const char* result :
       {"accepted", "duplicate", "version", "identity", "taken_over", "none"}) {
    sessions_[result] =
        followed("cupel_sessions_total", "Answers to hellos, and messages without a session (none)",
                 {{"result", result}});
  }
}

void CoordinatorMetrics::make_bus_metrics() {
  for (std::size_t i = 0; i < kFromWorkerTypes; ++i) {
    received_[i] = followed("cupel_bus_messages_received_total", "Messages from workers",
                            {{"type", kReceivedTypes[i]}});
  }
  for (std::size_t i = 0; i < kToWorkerTypes; ++i) {
    sent_[i] =
        followed("cupel_bus_messages_sent_total", "Messages to workers", {{"type", kSentTypes[i]}});
  }
  const char* malformed = "Frames that were no valid message";
  malformed_ = followed("cupel_bus_decode_failures_total", malformed, {{"plane", "control"}});
  bulk_malformed_ = followed("cupel_bus_decode_failures_total", malformed, {{"plane", "bulk"}});
  const char* limited = "Messages dropped because their peer sends too many";
  rate_limited_ = followed("cupel_bus_rate_limited_total", limited, {{"plane", "control"}});
  bulk_rate_limited_ = followed("cupel_bus_rate_limited_total", limited, {{"plane", "bulk"}});
  for (const char* result : {"put", "get", "refused", "ignored", "mismatched"}) {
    bulk_[result] = followed("cupel_bulk_transfers_total",
                             "Artifact transfers and what was refused", {{"result", result}});
  }
  make_link_metrics(control_link_, "control");
  make_link_metrics(bulk_link_, "bulk");
  untrusted_behind_ = {control_link_.untrusted.counter, 0};
  log_bytes_ = followed("cupel_log_bytes_stored_total", "Bytes of artifacts received from workers");
}

void CoordinatorMetrics::make_link_metrics(LinkNumbers& link, const char* plane) {
  const prometheus::Labels labels = {{"plane", plane}};
  link.denied =
      followed("cupel_bus_auth_rejections_total", "Handshakes of unknown or revoked keys", labels);
  link.failed = followed("cupel_bus_handshake_failures_total",
                         "Connections that ended before they had said who they are", labels);
  link.untrusted = followed("cupel_bus_untrusted_messages_total",
                            "Messages of keys that are no longer trusted", labels);
  link.malformed = followed("cupel_bus_malformed_frames_total",
                            "Messages of more than one frame, or of none", labels);
  link.backpressure =
      followed("cupel_bus_backpressure_total", "Sends refused at the high-water mark", labels);
}

void CoordinatorMetrics::LinkNumbers::follow(const net::RouterCounters& link) {
  denied.follow(link.handshake_denied);
  failed.follow(link.handshake_failed);
  untrusted.follow(link.dropped_untrusted);
  malformed.follow(link.dropped_malformed);
  backpressure.follow(link.send_full);
}

void CoordinatorMetrics::make_store_and_http_metrics() {
  const prometheus::Labels commit = {{"op", "commit"}};
  commits_ = &base_.counter("cupel_db_calls_total", "Calls of the store", commit);
  commit_failures_ = &base_.counter("cupel_db_failures_total", "Failed calls of the store", commit);
  commit_seconds_ = &base_.histogram("cupel_db_call_duration_seconds",
                                     "Duration of the store's calls", app::http_buckets(), commit);
  const prometheus::Labels read = {{"op", "read"}};
  reads_ = &base_.counter("cupel_db_calls_total", "Calls of the store", read);
  read_failures_ = &base_.counter("cupel_db_failures_total", "Failed calls of the store", read);
  read_seconds_ = &base_.histogram("cupel_db_call_duration_seconds",
                                   "Duration of the store's calls", app::http_buckets(), read);
  leader_ = &base_.gauge("cupel_leader", "1 while this coordinator leads the fleet");
  epoch_ = &base_.gauge("cupel_leader_epoch", "Epoch in which it leads, or last led; 0 = alone");
  terms_ = &base_.counter("cupel_leader_terms_total", "How often it began to lead");
  transitions_ = &base_.counter("cupel_db_transitions_total", "Transitions written to the store");
  request_seconds_ = &base_.histogram("cupel_http_request_duration_seconds",
                                      "HTTP requests without streams", app::http_buckets());
  sse_clients_ = &base_.gauge("cupel_sse_clients", "Open event streams");
  sse_dropped_ = &base_.counter("cupel_sse_dropped_total",
                                "Event streams cut off because the client read too slowly");
}

void CoordinatorMetrics::make_retention_metrics() {
  constexpr std::array kWhat = {"events", "artifacts"};
  for (std::size_t i = 0; i < kWhat.size(); ++i) {
    const prometheus::Labels what = {{"what", kWhat[i]}};
    retained_[i] = {&base_.counter("cupel_retention_removed_total", "Records removed by age", what),
                    &base_.counter("cupel_retention_failures_total", "Passes that failed", what),
                    &base_.gauge("cupel_retention_last_success_timestamp_seconds",
                                 "When old records were last looked for; 0 = never", what)};
  }
  artifacts_ = &base_.gauge("cupel_artifacts", "Artifacts on the disk at the last pass");
  artifact_bytes_ = &base_.gauge("cupel_artifacts_bytes", "Their size");
}

void CoordinatorMetrics::update(const Counters& counters, const Gauges& gauges,
                                const net::RouterCounters& link) {
  follow(counters);
  std::uint64_t wanted = 0;
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    queued_[kind]->Set(as_double(gauges.queued[kind]));
    running_[kind]->Set(as_double(gauges.running[kind]));
    wanted += gauges.queued[kind] + gauges.running[kind];
  }
  blocked_->Set(as_double(gauges.blocked));
  oldest_->Set(static_cast<double>(gauges.oldest_ready_us) / 1e6);
  campaigns_running_->Set(as_double(gauges.campaigns_running));
  campaigns_paused_->Set(as_double(gauges.campaigns_paused));
  slots_->Set(as_double(gauges.slots));
  slots_used_->Set(as_double(gauges.slots_used));
  slots_wanted_->Set(as_double(wanted));
  workers_["idle"]->Set(as_double(gauges.workers_idle));
  workers_["busy"]->Set(as_double(gauges.workers_busy));
  workers_["draining"]->Set(as_double(gauges.workers_draining));
  workers_["blocked"]->Set(as_double(gauges.workers_blocked));
  workers_["quarantined"]->Set(as_double(gauges.workers_quarantined));
  workers_["lost"]->Set(as_double(gauges.workers_lost));
  control_link_.follow(link);
}

void CoordinatorMetrics::follow(const Counters& counters) {
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    for (std::size_t outcome = 0; outcome < kOutcomes; ++outcome) {
      completed_[kind][outcome].follow(counters.tasks_completed[kind][outcome]);
    }
  }
  retries_["worker_lost"].follow(counters.retries_worker_lost);
  retries_["infra_error"].follow(counters.retries_interrupted);
  retries_["lost_workspace"].follow(counters.retries_lost_workspace);
  retries_["timeout"].follow(counters.retries_timeout);
  retries_["upstream"].follow(counters.retries_upstream);
  retries_["overrun"].follow(counters.retries_overrun);
  retries_["undelivered"].follow(counters.retries_undelivered);
  fenced_["renewal"].follow(counters.fenced_renewals);
  fenced_["result"].follow(counters.fenced_results);
  fenced_["log"].follow(counters.fenced_logs);
  dead_letters_.follow(counters.dead_letters);
  baselines_reused_.follow(counters.baselines_reused);
  letters_handled_["replayed"].follow(counters.dead_letters_replayed);
  letters_handled_["dropped"].follow(counters.dead_letters_dropped);
  for (std::size_t verdict = 0; verdict < kVerdicts; ++verdict) {
    units_[verdict].follow(counters.units_finished[verdict]);
  }
  campaigns_finished_.follow(counters.campaigns_finished);
  campaigns_cancelled_.follow(counters.campaigns_cancelled);
  quarantines_["operator"].follow(counters.quarantines_operator);
  quarantines_["fleet"].follow(counters.quarantines_automatic);
  releases_.follow(counters.releases);
  probes_["passed"].follow(counters.probes_passed);
  probes_["failed"].follow(counters.probes_failed);
  probes_["lost"].follow(counters.probes_lost);
  workers_lost_.follow(counters.workers_lost);
  leases_expired_.follow(counters.leases_expired);
  for (std::size_t i = 0; i < kFromWorkerTypes; ++i) received_[i].follow(counters.received[i]);
  for (std::size_t i = 0; i < kToWorkerTypes; ++i) sent_[i].follow(counters.sent[i]);
  malformed_.follow(counters.malformed);
  rate_limited_.follow(counters.rate_limited);
  leases_renewed_.follow(counters.leases_renewed);
  leases_overrun_.follow(counters.leases_overrun);
  sessions_["accepted"].follow(counters.sessions_accepted);
  sessions_["duplicate"].follow(counters.sessions_duplicate);
  sessions_["version"].follow(counters.sessions_version);
  sessions_["identity"].follow(counters.identity_lies);
  sessions_["taken_over"].follow(counters.sessions_taken_over);
  sessions_["none"].follow(counters.without_session);
  untrusted_behind_.follow(counters.untrusted);
}

void CoordinatorMetrics::machine_began() {
  follow(Counters{});
}

void CoordinatorMetrics::leads(bool now, std::uint64_t epoch) {
  leader_->Set(now ? 1 : 0);
  epoch_->Set(as_double(epoch));
  if (now) terms_->Increment();
}

void CoordinatorMetrics::observe(const Observe& sample) {
  const auto kind = static_cast<std::size_t>(sample.kind);
  if (kind >= kTaskKinds) return;
  auto& histograms = sample.what == Observe::What::queue_wait ? queue_wait_ : run_;
  histograms[kind]->Observe(std::chrono::duration<double>(sample.value).count());
}

void CoordinatorMetrics::committed(std::size_t transitions, double seconds, bool ok) {
  commits_->Increment();
  commit_seconds_->Observe(seconds);
  if (ok) {
    transitions_->Increment(static_cast<double>(transitions));
  } else {
    commit_failures_->Increment();
  }
}

void CoordinatorMetrics::read(std::string_view /*op*/, double seconds, bool ok) {
  reads_->Increment();
  read_seconds_->Observe(seconds);
  if (!ok) read_failures_->Increment();
}

void CoordinatorMetrics::retention_removed(Kept what, std::uint64_t count) {
  retained_.at(static_cast<std::size_t>(what)).removed->Increment(as_double(count));
}
void CoordinatorMetrics::retention_failed(Kept what) {
  retained_.at(static_cast<std::size_t>(what)).failures->Increment();
}
void CoordinatorMetrics::retention_passed(Kept what, WallTime at) {
  retained_.at(static_cast<std::size_t>(what)).last_success->Set(static_cast<double>(at.us) / 1e6);
}
void CoordinatorMetrics::artifacts(std::uint64_t count, std::uint64_t bytes) {
  artifacts_->Set(as_double(count));
  artifact_bytes_->Set(as_double(bytes));
}

void CoordinatorMetrics::update(const wire::BulkCounters& counters,
                                const net::RouterCounters& link) {
  bulk_link_.follow(link);
  log_bytes_.follow(counters.bytes_in);
  bulk_malformed_.follow(counters.malformed);
  bulk_rate_limited_.follow(counters.rate_limited);
  bulk_["put"].follow(counters.puts_done);
  bulk_["get"].follow(counters.gets_done);
  bulk_["refused"].follow(counters.refused);
  bulk_["ignored"].follow(counters.ignored);
  bulk_["mismatched"].follow(counters.mismatched);
}

void CoordinatorMetrics::know_routes(const std::vector<std::string>& patterns) {
  std::vector<std::string> all = patterns;
  all.emplace_back("other");
  for (const std::string& route : all) {
    for (std::size_t i = 0; i < kCodes.size(); ++i) {
      requests_[route][i] = &base_.counter("cupel_http_requests_total", "HTTP requests by route",
                                           {{"route", route}, {"code", kCodes[i]}});
    }
  }
}

void CoordinatorMetrics::http_request(const std::string& route, unsigned status, double seconds) {
  const auto found = requests_.find(route);
  if (found != requests_.end() && status >= 200 && status < 600)
    found->second[status / 100 - 2]->Increment();
  if (seconds > 0) request_seconds_->Observe(seconds);
}

void CoordinatorMetrics::sse_clients(int change) {
  sse_clients_->Increment(change);
}
void CoordinatorMetrics::sse_dropped() {
  sse_dropped_->Increment();
}

}  // namespace cupel::coordinator
