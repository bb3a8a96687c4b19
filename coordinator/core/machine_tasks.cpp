// Tasks and attempts: from the queue to a worker and back.
#include "common/core/backoff.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

constexpr std::size_t kindex(TaskKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

void Machine::State::schedule() {
  scheduler.wake(now.mono);
  if (scheduler.waiting() == 0) return;
  std::vector<Handle> open;
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    const Worker& worker = fleet[handle];
    if (!fleet.may_get_work(worker, now.mono) || fleet.free_slots(worker) == 0) continue;
    if (scheduler.has_work_for(handle)) open.push_back(handle);
  }
  while (!open.empty() && scheduler.waiting() > 0) {
    const auto freest = std::ranges::max_element(
        open, {}, [this](Handle handle) { return fleet.free_slots(fleet[handle]); });
    const Handle worker = *freest;
    const auto task = pick_for(worker);
    if (task) grant(*task, worker);
    if (!task || fleet.free_slots(fleet[worker]) == 0) open.erase(freest);
  }
}

void Machine::State::grant(Handle handle, Handle worker) {
  Task& task = tasks[handle];
  const CampaignEntry& campaign = campaigns.at(task.campaign);
  const Token token{tokens.take()};
  task.state = TaskState::leased;
  Attempt attempt;
  attempt.id = task.id;
  attempt.token = token;
  attempt.task = handle;
  attempt.worker = worker;
  attempt.expires = now.mono + settings.lease;
  attempt.granted = now.mono;
  attempt.ends = now.mono + settings.task_max;  // until its spec is read
  leases.add(std::move(attempt));
  fleet[worker].leases.insert(task.id);
  scheduler.started(task.campaign);
  ++counters.leases_granted;
  out.emplace_back(
      Observe{Observe::What::queue_wait, task.kind,
              std::chrono::microseconds(std::max<std::int64_t>(0, now.wall.us - task.ready.us))});
  write(TaskLeased{task.id, token, fleet[worker].id, now.wall, !is_first_acquisition(task)});
  JsonLine body;
  body.text("task", task.id.text())
      .number("token", token.value)
      .text("kind", name(task.kind))
      .text("repository", repositories[task.repository].id.text())
      .text("worker", fleet[worker].id.text());
  event_line(campaign.id, "task.started", body);
  after_commit(LeaseReady{task.id, token});
}

// ---- results -----------------------------------------------------------------------------------

void Machine::State::take_result(Attempt& attempt, TaskResult result) {
  const Handle handle = attempt.task;
  const Handle worker = attempt.worker;
  const Token token = attempt.token;
  Task& task = tasks[handle];
  accepted.add(token, worker, last_batch + 1);
  promise_send(worker, ResultAck{{task.id, token}, true});

  if (attempt.work && !planner::is_complete(*attempt.work, result)) {
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    result.message = "the worker's answer is incomplete";
  }
  CampaignEntry& campaign = campaigns.at(task.campaign);
  const planner::Decision decision =
      planner::decide(result, {task.interruptions, task.charged}, campaign.budgets);

  if (result.ending != Ending::completed) {
    const bool moved = result.ending == Ending::lost_workspace;
    const Reason reason = result.reason == Reason::none
                              ? (moved ? Reason::lease_lost : Reason::aborted)
                              : result.reason;
    const bool engine = reason == Reason::engine || reason == Reason::image_missing;
    if (engine) attempt_ended(worker, "said " + std::string(name(reason)));
    std::string why = result.message;
    if (why.empty()) why = moved ? "the workspace is gone" : "interrupted by the worker";
    ++(moved ? counters.retries_lost_workspace : counters.retries_interrupted);
    if (decision.fate == planner::Fate::dead) {
      end_attempt(task.id, false);
      task.interruptions = decision.spent.interruptions;
      finish_task(handle, token, std::move(result), true);
      bury(handle, reason, why);
      return;
    }
    if (moved && repositories[task.repository].holder == worker) {
      acquire_again(task.repository, "its workspace was lost");
    }
    put_back(attempt, decision, reason, why);
    return;
  }

  // An answer is an answer, whatever it says of the repository; only "my engine failed" is none.
  attempt_ended(worker, result.reason == Reason::engine ? "said engine" : "");
  if (decision.fate == planner::Fate::retry) {
    ++(result.reason == Reason::upstream ? counters.retries_upstream : counters.retries_timeout);
    put_back(attempt, decision, result.reason, result.message);
    return;
  }

  const bool dead = decision.fate == planner::Fate::accept_dead;
  if (dead) note_dead(task, result.reason, result.message);
  const double seconds = std::chrono::duration<double>(now.mono - attempt.granted).count();
  const auto work = std::move(attempt.work);
  const Handle repository = task.repository;
  const Handle unit = task.unit;
  const TaskId id = task.id;
  out.emplace_back(Observe{Observe::What::task_run, task.kind, now.mono - attempt.granted});
  ++counters.tasks_completed.at(kindex(task.kind)).at(static_cast<std::size_t>(result.outcome));
  end_attempt(id, false);

  if (task.kind == TaskKind::tool) {
    const TaskResult said = result;
    finish_task(handle, token, std::move(result), dead);
    tool_done(handle, said);
    return;
  }
  if (unit == kNoHandle) {
    // It ends first: it may be asked for once more, and one task of a kind is open at a time.
    planner::SourcePlan plan = planner::plan_source(result);
    finish_task(handle, token, std::move(result), dead);
    source_done(repository, worker, std::move(plan), id);
    drop_task(handle);
    return;
  }
  const UnitInfo info = work && unit_of(*work) != nullptr ? *unit_of(*work) : UnitInfo{};
  const planner::Step step = planner::Step::unpacked(task.step);
  planner::UnitPlan plan = plan_on(unit, step, info, result, worker);
  finish_task(handle, token, std::move(result), dead);
  units[unit].task = kNoHandle;
  drop_task(handle);
  put_place(units[unit], step, worker);
  if (const auto* judgement = std::get_if<planner::Judgement>(&plan)) {
    finish_unit(unit, *judgement, &info, id, seconds);
    return;
  }
  if (repositories[repository].failed) {
    finish_unit(unit, *repositories[repository].failed, &info, id, seconds);
    return;
  }
  auto& next = std::get<planner::NextTask>(plan);
  if (units[unit].parked != kNoHandle) {
    const Handle waiting = units[unit].parked;
    units[unit].parked = std::exchange(tasks[waiting].waiter, kNoHandle);
    units[unit].task = waiting;
    place(units[unit].task, &info);
  } else {
    go_on(unit, std::move(next), info);
  }
}

void Machine::State::finish_task(Handle handle, Token token, TaskResult result, bool dead) {
  const Task& task = tasks[handle];
  const CampaignId campaign = campaigns.at(task.campaign).id;
  JsonLine body;
  body.text("task", task.id.text())
      .number("token", token.value)
      .text("kind", name(task.kind))
      .text("outcome", name(result.outcome))
      .text("reason", name(result.reason))
      .text("state", name(dead ? TaskState::dead : TaskState::done));
  event_line(campaign, "task.finished", body);
  write(TaskFinished{task.id, token, now.wall, std::move(result)});
  if (dead) write(TaskStateChanged{task.id, TaskState::dead, {}, now.wall});
}

// ---- going back
// ----------------------------------------------------------------------------------

void Machine::State::interrupt(Attempt& attempt, Reason reason, const std::string& why,
                               bool costs) {
  const Task& task = tasks[attempt.task];
  const planner::Spent spent{task.interruptions, task.charged};
  if (!costs) {
    ++counters.retries_undelivered;
    put_back(attempt, {planner::Fate::retry, spent}, reason, why);
    return;
  }
  ++counters.retries_worker_lost;
  const CampaignEntry& campaign = campaigns.at(task.campaign);
  put_back(attempt, planner::decide_interrupted(spent, campaign.budgets), reason, why);
}

Duration Machine::State::backoff(const Task& task, std::uint32_t attempt) const {
  // Spread by the task's number: the machine has no randomness, and none is needed.
  return backoff_delay(attempt, settings.backoff_first, settings.backoff_max,
                       hash_of(task.id.text()));
}

void Machine::State::put_back(const Attempt& attempt, planner::Decision decision, Reason reason,
                              const std::string& why) {
  const Handle handle = attempt.task;
  const Token token = attempt.token;
  const std::optional<Work> work = attempt.work;
  Task& task = tasks[handle];
  Repository& repository = repositories[task.repository];
  const CampaignId campaign = campaigns.at(task.campaign).id;
  const bool costs =
      decision.spent.charged != task.charged || decision.spent.interruptions != task.interruptions;
  task.charged = decision.spent.charged;
  task.interruptions = decision.spent.interruptions;
  end_attempt(task.id, false);
  const auto returned = [&](TaskState state, WallTime not_before) {
    write(TaskReturned{task.id, token, state, task.charged, task.interruptions, not_before,
                       now.wall, why});
  };
  if (decision.fate == planner::Fate::dead) {
    returned(TaskState::dead, {});
    bury(handle, reason, why);
    return;
  }
  event(campaign, "task.retried",
        {{"task", task.id.text()},
         {"token", token.value},
         {"kind", name(task.kind)},
         {"why", why},
         {"charged", task.charged},
         {"interruptions", task.interruptions}});
  if (task.unit != kNoHandle && repository.failed) {
    const Handle unit = task.unit;
    const TaskId id = task.id;
    const planner::Judgement judgement = *repository.failed;
    returned(TaskState::cancelled, {});
    units[unit].task = kNoHandle;
    drop_task(handle);
    finish_unit(unit, judgement, work ? unit_of(*work) : nullptr, id, 0);
    return;
  }

  const Duration delay =
      costs ? backoff(task, static_cast<std::uint32_t>(task.charged + task.interruptions - 1))
            : Duration::zero();
  task.not_before = now.mono + delay;
  task.ready = {now.wall.us + std::chrono::duration_cast<std::chrono::microseconds>(delay).count()};
  task.retried = true;
  const bool wait = must_wait(task);
  returned(wait ? TaskState::blocked : TaskState::queued, task.ready);
  task.state = TaskState::blocked;
  if (wait || (task.unit != kNoHandle && task.preferred != repository.holder)) {
    place(handle, work ? unit_of(*work) : nullptr);
  } else {
    task.state = TaskState::queued;
    start_waiting(handle);
  }
}

void Machine::State::start_waiting(Handle handle) {
  Task& task = tasks[handle];
  task.delayed = task.not_before > now.mono;
  scheduler.push(handle);
}

void Machine::State::end_attempt(TaskId id, bool still_runs) {
  const Attempt* attempt = leases.of_task(id);
  if (attempt == nullptr) return;
  Worker& worker = fleet[attempt->worker];
  worker.leases.erase(id);
  if (still_runs && attempt->sent && worker.session != 0) worker.stopping.insert(attempt->token);
  scheduler.ended(tasks[attempt->task].campaign, now.mono - attempt->granted);
  leases.remove(id);
}

void Machine::State::bury(Handle handle, Reason reason, const std::string& why) {
  const Task& task = tasks[handle];
  const TaskId id = task.id;
  const Handle repository = task.repository;
  const Handle unit = task.unit;
  const planner::Step step = planner::Step::unpacked(task.step);
  const std::string message =
      "given up after " + std::to_string(task.interruptions + 1) + " interrupted attempts: " + why;
  note_dead(task, reason, message);
  if (task.kind == TaskKind::tool) {
    tool_lost(handle, reason, why);
    return;
  }
  drop_task(handle);
  planner::Judgement judgement = planner::judge_dead(reason, message);
  if (unit != kNoHandle) {
    units[unit].task = kNoHandle;
    give_up(unit, step, std::move(judgement), id);
    return;
  }
  repositories[repository].source_task = kNoHandle;
  if (repositories[repository].acquired) {
    if (move_back(repository)) return;
    judgement.decider = id;
    fail_repository(repository, std::move(judgement));
    return;
  }
  repositories[repository].acquired = true;
  --campaign_of(repositories[repository]).open_repositories;
  add_unit(repository, planner::whole_repository(std::move(judgement)), id);
}

/// A unit whose task will not be done. Without the last look at its patch it has its verdict all
/// the same.
void Machine::State::give_up(Handle handle, planner::Step step, planner::Judgement judgement,
                             TaskId task) {
  const Unit& unit = units[handle];
  if (step.stage == planner::Stage::readiness && unit.progress) {
    unit.progress->book.readiness = compare::Readiness{task, false, judgement.message, {}};
    UnitInfo info;  // what the plan asks of it; the rest is in its record
    info.vendored = unit.vendored;
    const auto plan = plan_from_start(handle, info);
    if (const auto* known = std::get_if<planner::Judgement>(&plan)) judgement = *known;
  }
  finish_unit(handle, judgement, nullptr, task, 0);
}

void Machine::State::note_dead(const Task& task, Reason reason, const std::string& why) {
  ++counters.dead_letters;
  DeadLetterRow letter;
  letter.task = task.id;
  letter.campaign = campaigns.at(task.campaign).id;
  letter.repository = repositories[task.repository].id;
  if (task.unit != kNoHandle) letter.unit = units[task.unit].id;
  letter.kind = task.kind;
  letter.reason = reason;
  letter.message = why;
  letter.at = now.wall;
  event(letter.campaign, "deadletter.added",
        {{"task", letter.task.text()},
         {"kind", name(letter.kind)},
         {"reason", name(reason)},
         {"message", why}});
  write(DeadLetterAdded{std::move(letter)});
}

// ---- making and placing
// ----------------------------------------------------------------------------

bool Machine::State::is_first_acquisition(const Task& task) const {
  return task.unit == kNoHandle && !repositories[task.repository].acquired;
}

bool Machine::State::must_wait(const Task& task) const {
  if (task.unit == kNoHandle) return false;
  const Repository& repository = repositories[task.repository];
  if (repository.source_task != kNoHandle || repository.holder == kNoHandle) return true;
  return missing(task).has_value() || waits_for_tool(task);
}

Handle Machine::State::place_of(const Unit& unit, planner::Step step) {
  const bool same = unit.after_variant == step.variant;
  switch (step.stage) {
    case planner::Stage::modules: return unit.modules_at;
    case planner::Stage::mutate: return same ? unit.changed_at : kNoHandle;
    case planner::Stage::modules_after: return same ? unit.modules_after_at : kNoHandle;
    default: return kNoHandle;
  }
}

void Machine::State::put_place(Unit& unit, planner::Step step, Handle worker) {
  if (step.stage == planner::Stage::modules) unit.modules_at = worker;
  if (step.stage == planner::Stage::modules_after) unit.modules_after_at = worker;
  if (step.stage != planner::Stage::mutate) return;
  unit.changed_at = worker;
  unit.modules_after_at = kNoHandle;  // the old one's, whichever it was
  unit.after_variant = step.variant;
}

void Machine::State::park(Handle unit, Handle task) {
  tasks[task].waiter = std::exchange(units[unit].parked, task);
}

std::optional<planner::Step> Machine::State::missing(const Task& task) const {
  const Repository& repository = repositories[task.repository];
  const Unit& unit = units[task.unit];
  for (const planner::Step need :
       planner::needs(planner::Step::unpacked(task.step), question_of(repository), unit.vendored)) {
    if (place_of(unit, need) != repository.holder) return need;
  }
  return std::nullopt;
}

Handle Machine::State::create_task(Handle repository_handle, Handle unit_handle, planner::Step step,
                                   Work work, Handle only) {
  const TaskKind kind = unit_handle == kNoHandle ? TaskKind::acquire : planner::kind_of(step.stage);
  const Repository& repository = repositories[repository_handle];
  const CampaignEntry& campaign = campaigns.at(repository.campaign);
  TaskSpec spec;
  spec.id = TaskId{next_id()};
  spec.campaign = campaign.id;
  spec.repository = repository.id;
  if (unit_handle != kNoHandle) spec.unit = units[unit_handle].id;
  spec.kind = kind;
  spec.work = std::move(work);

  Task task;
  task.id = spec.id;
  task.ready = now.wall;
  task.campaign = repository.campaign;
  task.repository = repository_handle;
  task.unit = unit_handle;
  task.kind = kind;
  task.step = step.packed();
  const bool wait = must_wait(task);
  task.state = wait ? TaskState::blocked : TaskState::queued;
  if (unit_handle == kNoHandle) task.preferred = only;
  if (unit_handle != kNoHandle && !wait) task.preferred = repository.holder;

  TaskRow row;
  row.id = task.id;
  row.campaign = campaign.id;
  row.repository = repository.id;
  row.unit = spec.unit;
  row.kind = kind;
  row.step = task.step;
  row.state = task.state;
  if (task.preferred != kNoHandle) row.preferred = fleet[task.preferred].id;
  row.priority = campaign.priority;
  row.ready = now.wall;
  // The settings are the campaign's and are added when the lease is sent.
  write(TaskCreated{row,
                    is_first_acquisition(task) ? std::string() : json_text_without_settings(spec)});

  const Handle handle = tasks.add(task);
  if (unit_handle == kNoHandle) {
    repositories[repository_handle].source_task = handle;
  } else {
    units[unit_handle].task = handle;
  }
  if (!wait) {
    start_waiting(handle);
  } else if (unit_handle != kNoHandle && repository.source_task == kNoHandle &&
             repository.holder != kNoHandle) {
    place(handle, unit_of(spec.work));
  }
  return handle;
}

void Machine::State::place(Handle handle, const UnitInfo* info) {
  Task& task = tasks[handle];
  Repository& repository = repositories[task.repository];
  const bool wait = must_wait(task);
  const TaskState state = wait ? TaskState::blocked : TaskState::queued;
  const Handle preferred = wait ? kNoHandle : repository.holder;
  if (task.state != state || task.preferred != preferred) {
    task.state = state;
    task.preferred = preferred;
    write(TaskStateChanged{task.id, state,
                           preferred == kNoHandle ? WorkerId{} : fleet[preferred].id, now.wall});
  }
  if (!wait) {
    if (task.ready.us == 0) task.ready = now.wall;
    start_waiting(handle);
    return;
  }
  if (repository.source_task != kNoHandle || repository.holder == kNoHandle) return;
  if (!missing(task)) return;  // It waits for a tool.
  // The workspace has moved: what was made from it has to be made again before this task goes on.
  const Handle unit = task.unit;
  const Handle repository_handle = task.repository;
  if (info == nullptr) {
    planner::Judgement judgement =
        planner::judge_dead(Reason::engine, "the unit's facts were lost with its worker");
    finish_unit(unit, judgement, nullptr, task.id, 0);
    return;
  }
  units[unit].task = kNoHandle;
  park(unit, handle);
  const planner::Step first = *missing(task);
  create_task(repository_handle, unit, first,
              planner::work_of(first, question_of(repositories[repository_handle]), *info,
                               repository.commit, units[unit].progress.get()));
}

void Machine::State::drop_task(Handle handle) {
  Task& task = tasks[handle];
  if (task.unit == kNoHandle && repositories[task.repository].source_task == handle) {
    repositories[task.repository].source_task = kNoHandle;
  }
  tasks.remove(handle);
}

}  // namespace cupel::coordinator
