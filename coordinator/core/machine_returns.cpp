// Attempts that ended without an answer: back to the queue after a pause, or given up as dead
// letters.
#include "common/core/backoff.hpp"
#include "coordinator/core/state.hpp"

namespace cupel::coordinator {

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

}  // namespace cupel::coordinator
