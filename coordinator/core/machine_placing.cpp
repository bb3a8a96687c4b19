// Tasks as they are made, and where each may run: what it needs stands on one worker.
#include "coordinator/core/state.hpp"

#include <utility>

namespace cupel::coordinator {

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
