// Tasks and attempts: from the queue to a worker, and what its answer leads to.
#include "coordinator/core/state.hpp"

#include <algorithm>
#include <utility>

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
  const Task& task = tasks[attempt.task];
  accepted.add(attempt.token, attempt.worker, last_batch + 1);
  promise_send(attempt.worker, ResultAck{{task.id, attempt.token}, true});

  if (attempt.work && !planner::is_complete(*attempt.work, result)) {
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    result.message = "the worker's answer is incomplete";
  }
  const CampaignEntry& campaign = campaigns.at(task.campaign);
  const planner::Decision decision =
      planner::decide(result, {task.interruptions, task.charged}, campaign.budgets);

  if (result.ending != Ending::completed) {
    take_no_answer(attempt, std::move(result), decision);
  } else {
    take_answer(attempt, std::move(result), decision);
  }
}

void Machine::State::take_no_answer(const Attempt& attempt, TaskResult result,
                                    planner::Decision decision) {
  const Handle handle = attempt.task;
  const Handle worker = attempt.worker;
  const Token token = attempt.token;
  Task& task = tasks[handle];
  const bool moved = result.ending == Ending::lost_workspace;
  const Reason reason = result.reason == Reason::none
                            ? (moved ? Reason::lease_lost : Reason::aborted)
                            : result.reason;
  const bool engine = reason == Reason::engine || reason == Reason::image_missing;
  if (engine) attempt_ended(worker, task.kind, "said " + std::string(name(reason)));
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
}

void Machine::State::take_answer(Attempt& attempt, TaskResult result, planner::Decision decision) {
  const Handle handle = attempt.task;
  const Handle worker = attempt.worker;
  const Token token = attempt.token;
  const Task& task = tasks[handle];
  // An answer is an answer, whatever it says of the repository; only "my engine failed" is none.
  attempt_ended(worker, task.kind, result.reason == Reason::engine ? "said engine" : "");
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
  lead_on(unit, std::move(plan), info, id, seconds);
}

void Machine::State::lead_on(Handle unit, planner::UnitPlan plan, const UnitInfo& info, TaskId done,
                             double seconds) {
  if (const auto* judgement = std::get_if<planner::Judgement>(&plan)) {
    finish_unit(unit, *judgement, &info, done, seconds);
    return;
  }
  const auto& failed = repositories[units[unit].repository].failed;
  if (failed) {
    finish_unit(unit, *failed, &info, done, seconds);
    return;
  }
  if (units[unit].parked == kNoHandle) {
    go_on(unit, std::move(std::get<planner::NextTask>(plan)), info);
    return;
  }
  const Handle waiting = units[unit].parked;
  units[unit].parked = std::exchange(tasks[waiting].waiter, kNoHandle);
  units[unit].task = waiting;
  place(waiting, &info);
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

}  // namespace cupel::coordinator
