#include "coordinator/core/machine.hpp"

#include "common/core/json.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cupel::coordinator {
namespace {

constexpr std::array<std::string_view, 6> kWorkerStates = {"idle",    "busy",        "draining",
                                                           "blocked", "quarantined", "lost"};

FleetSettings fleet_settings(const MachineSettings& settings) {
  return {.heartbeat = settings.heartbeat,
          .lease = settings.lease,
          .holder_grace = settings.holder_grace,
          .peer_messages_per_s = settings.peer_messages_per_s,
          .slots_per_worker_max = settings.slots_per_worker_max,
          .quarantine_failures = settings.quarantine_failures,
          .quarantine_percent = settings.quarantine_percent,
          .quarantine_window = settings.quarantine_window,
          .quarantine = settings.quarantine};
}

bool identity_is_present(const std::string& image, const std::vector<std::string>& images) {
  if (!image.starts_with("sha256:")) return true;
  return std::ranges::find(images, image) != images.end();
}

}  // namespace

std::string_view name(WorkerState state) {
  return kWorkerStates.at(static_cast<std::size_t>(state));
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1099511628211ULL;
  }
  return hash;
}

const UnitInfo* unit_of(const Work& work) {
  if (const auto* modules = std::get_if<AcquireModules>(&work)) return &modules->unit;
  if (const auto* execute = std::get_if<Execute>(&work)) return &execute->unit;
  if (const auto* mutate = std::get_if<Mutate>(&work)) return &mutate->unit;
  return nullptr;
}

Machine::State::State(MachineSettings settings_, const Recovered& recovered,
                      std::map<CampaignId, campaign::Campaign> parsed, Now now_)
    : settings(std::move(settings_)),
      now(now_),
      scheduler(tasks),
      fleet(fleet_settings(settings)),
      accepted(settings.accepted_results_remembered) {
  if (!settings.image_allowed) settings.image_allowed = identity_is_present;
  recover(recovered, std::move(parsed));
}

Machine::Machine(MachineSettings settings, const Recovered& recovered,
                 std::map<CampaignId, campaign::Campaign> campaigns, Now now)
    : state_(std::make_unique<State>(std::move(settings), recovered, std::move(campaigns), now)) {}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;

void Machine::on(Event event, Now now) {
  State& state = *state_;
  if (state.lost) return;
  // While this process stood still nobody could renew: the silence was ours.
  const Duration gap = now.mono - state.now.mono;
  const Duration usual = std::max<Duration>(std::chrono::seconds(1), state.settings.heartbeat);
  if (gap > 2 * usual) {
    state.leases.forgive(gap);
    state.fleet.forgive(gap);
  }
  state.now = now;
  std::visit([&state](auto& known) { state.on(known); }, event);
}

Actions Machine::take() {
  state_->flush();
  return std::exchange(state_->out, {});
}

Actions Machine::step(Event event, Now now) {
  on(std::move(event), now);
  return take();
}

const Counters& Machine::counters() const {
  return state_->counters;
}

bool Machine::quiet() const {
  return state_->leases.size() == 0 && state_->pending.empty() && state_->batch.empty();
}

bool Machine::awaits_results() const {
  return state_->leases.size() > 0;
}

// ---- batches -----------------------------------------------------------------------------------

void Machine::State::send_to(const std::string& key, const std::string& routing, ToWorker message) {
  ++counters.sent.at(message.index());
  out.emplace_back(Send{key, routing, std::move(message)});
}

void Machine::State::send(Handle handle, ToWorker message) {
  const Worker& worker = fleet[handle];
  if (worker.session != 0) send_to(worker.key, worker.routing, std::move(message));
}

void Machine::State::promise_send(Handle handle, ToWorker message) {
  const Worker& worker = fleet[handle];
  if (worker.session != 0) {
    after_commit(Send{worker.key, worker.routing, std::move(message)});
  }
}

void Machine::State::event(CampaignId campaign, std::string type, const nlohmann::json& body) {
  write(EventAppended{campaign, std::move(type),
                      body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                      now.wall});
}

void Machine::State::event_line(CampaignId campaign, std::string type, JsonLine& body) {
  write(EventAppended{campaign, std::move(type), body.take(), now.wall});
}

void Machine::State::reply(RequestId request, Result<Reply::Done> answer) {
  out.emplace_back(Reply{request, std::move(answer)});
}

void Machine::State::flush() {
  if (lost) return;
  for (const Handle campaign : std::exchange(touched, {})) check_finished(campaign);
  schedule();
  const bool ids_grew = ids.grew();
  const bool tokens_grew = tokens.grew();
  if (ids_grew || tokens_grew) {
    batch.insert(batch.begin(), SequencesReserved{ids.reserved(), tokens.reserved()});
  }
  if (!batch.empty()) {
    ++last_batch;
    ++counters.batches;
    counters.transitions += batch.size();
    out.emplace_back(Commit{last_batch, std::exchange(batch, {})});
    pending.push_back({last_batch, std::exchange(promises, {})});
    return;
  }
  if (promises.empty()) return;
  if (!pending.empty()) {
    auto& last = pending.back().promises;
    std::ranges::move(promises, std::back_inserter(last));
    promises.clear();
    return;
  }
  for (Promise& promise : std::exchange(promises, {})) keep(promise, {});
}

void Machine::State::on(StoreCommitted& event) {
  while (!pending.empty() && pending.front().id <= event.batch) {
    Batch done = std::move(pending.front());
    pending.pop_front();
    committed = done.id;
    for (Promise& promise : done.promises) keep(promise, event);
  }
}

void Machine::State::on(StoreFailed& event) {
  lost = true;
  out.emplace_back(StoreLost{std::move(event.error)});
}

void Machine::State::keep(Promise& promise, const StoreCommitted& answer) {
  if (auto* to_send = std::get_if<Send>(&promise)) {
    ++counters.sent.at(to_send->message.index());
    out.emplace_back(std::move(*to_send));
  } else if (auto* reply = std::get_if<Reply>(&promise)) {
    out.emplace_back(std::move(*reply));
  } else if (const auto* lease = std::get_if<LeaseReady>(&promise)) {
    send_lease(*lease, answer.specs);
  } else if (auto* session = std::get_if<SessionReady>(&promise)) {
    Worker& worker = fleet[session->worker];
    if (worker.session != session->session) return;  // replaced or lost meanwhile
    worker.welcomed = true;
    send(session->worker, std::move(session->welcome));
    if (worker.drain) send(session->worker, drain_order(session->worker));
  } else if (const auto* probe = std::get_if<ProbeReady>(&promise)) {
    send_probe(*probe);
  } else if (const auto* baseline = std::get_if<BaselineReady>(&promise)) {
    const auto found = answer.baselines.find(baseline->id);
    baseline_ready(*baseline, found == answer.baselines.end() ? nullptr : &found->second);
  } else if (const auto* step = std::get_if<StepOn>(&promise)) {
    step_campaign(step->campaign);
  }
}

void Machine::State::send_lease(const LeaseReady& ready,
                                const std::map<TaskId, std::string>& specs) {
  Attempt* attempt = leases.find({ready.task, ready.token});
  if (attempt == nullptr)
    return;  // cancelled, or its worker was lost, while the commit was under way
  const Task& task = tasks[attempt->task];
  Result<TaskSpec> spec = failure(Errc::bug, "no spec");
  if (is_first_acquisition(task)) {
    spec = TaskSpec{};
    spec->work = acquisition_of(repositories[task.repository]);
  } else if (const auto text = specs.find(ready.task); text != specs.end()) {
    const auto json = nlohmann::json::parse(text->second, nullptr, false);
    if (json.is_object()) spec = spec_from_json(json);
  }
  if (!spec) {
    // A record that can't be read won't become readable: the task ends here, visibly.
    const std::string why = "the stored spec can't be read: " + spec.error().what;
    const Handle handle = attempt->task;
    const Token token = attempt->token;
    write(TaskReturned{
        task.id, token, TaskState::dead, task.charged, task.interruptions, {}, now.wall, why});
    end_attempt(ready.task, false);
    bury(handle, Reason::engine, why);
    return;
  }
  const Repository& repository = repositories[task.repository];
  Lease lease;
  lease.spec = *std::move(spec);
  lease.spec.id = task.id;
  lease.spec.repository = repository.id;
  lease.spec.unit = task.unit == kNoHandle ? UnitId{} : units[task.unit].id;
  lease.spec.kind = task.kind;
  const CampaignEntry& campaign = campaigns.at(task.campaign);
  lease.spec.campaign = campaign.id;
  lease.spec.settings = campaign.settings;
  if (std::string image = planner::image_for(campaign.question, lease.spec.work); !image.empty()) {
    lease.spec.settings.image = std::move(image);
  }
  if (auto* execute = std::get_if<Execute>(&lease.spec.work)) {
    add_scan(campaign, fleet[attempt->worker], *execute);
  }
  lease.token = attempt->token;
  lease.lease_ms = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(settings.lease).count());
  lease.beat = fleet[attempt->worker].beat;
  attempt->work = lease.spec.work;
  attempt->ends = attempt->granted + life_of(lease.spec.work, attempt->task);
  attempt->sent = true;
  // From what the worker can have counted from: its newest beat was heard no later than now.
  attempt->expires = now.mono + settings.lease;
  send(attempt->worker, std::move(lease));
}

}  // namespace cupel::coordinator
