// Repositories and units: what results mean for them.
#include "common/core/json.hpp"
#include "coordinator/core/compare/record.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {

void Machine::State::source_done(Handle handle, Handle worker, planner::SourcePlan plan,
                                 TaskId task) {
  Repository& repository = repositories[handle];
  repository.source_task = kNoHandle;
  if (repository.acquired) {
    acquired_again(handle, worker, plan);
  } else {
    acquired_first(handle, worker, std::move(plan), task);
  }
}

void Machine::State::acquired_first(Handle handle, Handle worker, planner::SourcePlan plan,
                                    TaskId task) {
  Repository& repository = repositories[handle];
  CampaignEntry& campaign = campaign_of(repository);
  repository.acquired = true;
  --campaign.open_repositories;
  if (plan.pinned) {
    repository.commit = plan.commit;
    write(
        RepositoryPinned{repository.id, plan.commit, plan.tree, fleet[worker].id, plan.committed});
    set_holder(handle, worker);
    JsonLine body;
    body.text("repository", source_of(repository).name())
        .text("id", repository.id.text())
        .text("commit", plan.commit)
        .number("units", plan.units.size());
    event_line(campaign.id, "repository.acquired", body);
  }
  // All of them first: a repository counts as over once it has no open unit.
  std::vector<Handle> made;
  for (const planner::PlannedUnit& unit : plan.units) {
    made.push_back(create_unit(handle, unit.info));
    // Nothing completes the manifests of a vendored unit: it runs on the commit's own tree.
    planner::Progress* progress = units[made.back()].progress.get();
    if (progress != nullptr && unit.info.vendored) progress->before_tree = plan.tree;
  }
  for (std::size_t i = 0; i < made.size(); ++i)
    begin_unit(made[i], std::move(plan.units[i]), plan.pinned ? TaskId{} : task);
  if (repository.first_unit == kNoHandle) set_holder(handle, kNoHandle);
}

void Machine::State::acquired_again(Handle handle, Handle worker, const planner::SourcePlan& plan) {
  Repository& repository = repositories[handle];
  if (!plan.pinned) {
    if (move_back(handle)) return;
    const auto* judgement = std::get_if<planner::Judgement>(&plan.units.front().plan);
    fail_repository(handle, judgement != nullptr ? *judgement : planner::Judgement{});
    return;
  }
  if (plan.commit != repository.commit) {
    fail_repository(handle,
                    planner::judge_dead(Reason::engine, "acquired again, the pinned commit " +
                                                            repository.commit + " came back as " +
                                                            plan.commit));
    return;
  }
  moves.erase(handle);
  if (repository.first_unit == kNoHandle) return;  // all judged meanwhile
  set_holder(handle, worker);
  write(RepositoryHolder{repository.id, fleet[worker].id});
  std::map<std::uint64_t, const UnitInfo*> infos;
  for (const planner::PlannedUnit& unit : plan.units) infos[hash_of(unit.info.dir)] = &unit.info;
  for (Handle unit = repository.first_unit; unit != kNoHandle;) {
    const Handle next = units[unit].next;
    const Handle task = units[unit].task;
    const auto info = infos.find(units[unit].dir_hash);
    if (task != kNoHandle && tasks[task].state == TaskState::blocked) {
      if (info == infos.end()) {
        finish_unit(unit,
                    planner::judge_dead(Reason::engine, "acquired again, the unit was not found"),
                    nullptr, {}, 0);
      } else {
        place(task, info->second);
      }
    }
    unit = next;
  }
}

void Machine::State::acquire_again(Handle handle, const std::string& /*why*/, Handle to) {
  Repository& repository = repositories[handle];
  if (repository.source_task != kNoHandle) return;
  set_holder(handle, kNoHandle);
  if (repository.first_unit == kNoHandle || repository.failed) return;
  ++counters.holders_replaced;
  write(RepositoryHolder{repository.id, {}});
  create_task(handle, kNoHandle, {}, acquisition_of(repository), to);
  for (Handle unit = repository.first_unit; unit != kNoHandle; unit = units[unit].next) {
    units[unit].modules_at = kNoHandle;
    units[unit].changed_at = kNoHandle;
    units[unit].modules_after_at = kNoHandle;
    const Handle waiting = units[unit].task;
    if (waiting == kNoHandle || tasks[waiting].state != TaskState::queued) continue;
    Task& task = tasks[waiting];
    scheduler.remove(waiting);
    task.state = TaskState::blocked;
    task.preferred = kNoHandle;
    write(TaskStateChanged{task.id, TaskState::blocked, {}, now.wall});
  }
}

// Units whose attempts still run keep their chance: put_back() tells them.
void Machine::State::fail_repository(Handle handle, planner::Judgement judgement) {
  Repository& repository = repositories[handle];
  repository.failed = std::make_unique<planner::Judgement>(std::move(judgement));
  for (Handle unit = repository.first_unit; unit != kNoHandle;) {
    const Handle next = units[unit].next;
    const Handle task = units[unit].task;
    if (task == kNoHandle || tasks[task].state != TaskState::leased) {
      finish_unit(unit, *repository.failed, nullptr, {}, 0);
    }
    unit = next;
  }
}

void Machine::State::add_unit(Handle repository, planner::PlannedUnit planned, TaskId decided_by) {
  const Handle unit = create_unit(repository, planned.info);
  begin_unit(unit, std::move(planned), decided_by);
}

Handle Machine::State::create_unit(Handle repository_handle, const UnitInfo& info) {
  Repository& repository = repositories[repository_handle];
  CampaignEntry& campaign = campaign_of(repository);
  UnitRow row;
  row.id = UnitId{next_id()};
  row.campaign = campaign.id;
  row.repository = repository.id;
  row.info = json_text(info);

  Unit unit;
  unit.id = row.id;
  unit.repository = repository_handle;
  unit.next = repository.first_unit;
  unit.dir_hash = hash_of(info.dir);
  unit.vendored = info.vendored;
  write(UnitCreated{std::move(row)});
  if (campaign.question.compares() || campaign.samples.contains(repository.ordinal)) {
    unit.progress = std::make_unique<planner::Progress>();
    unit.progress->sample = campaign.samples.contains(repository.ordinal);
  }
  const Handle handle = units.add(std::move(unit));
  repository.first_unit = handle;
  ++campaign.open_units;
  return handle;
}

void Machine::State::begin_unit(Handle unit, planner::PlannedUnit planned, TaskId decided_by) {
  if (const auto* judgement = std::get_if<planner::Judgement>(&planned.plan)) {
    finish_unit(unit, *judgement, &planned.info, decided_by, 0);
    return;
  }
  planner::UnitPlan plan = plan_from_start(unit, planned.info);
  go_on(unit, std::get<planner::NextTask>(std::move(plan)), planned.info);
}

void Machine::State::go_on(Handle unit, planner::NextTask next, const UnitInfo& info) {
  if (ask_baseline(unit, next.step, info)) return;
  confirm_elsewhere(unit, next.step);
  create_task(units[unit].repository, unit, next.step, std::move(next.work));
}

planner::UnitPlan Machine::State::plan_from_start(Handle handle, const UnitInfo& info) {
  const Unit& unit = units[handle];
  const Repository& repository = repositories[unit.repository];
  planner::UnitPlan plain = planner::plan_unit(info, repository.commit);
  if (!unit.progress || std::holds_alternative<planner::Judgement>(plain)) return plain;
  return planner::plan_next(question_of(repository), info, repository.commit, *unit.progress);
}

planner::UnitPlan Machine::State::plan_on(Handle handle, planner::Step done, const UnitInfo& info,
                                          const TaskResult& result, Handle worker) {
  Unit& unit = units[handle];
  const Repository& repository = repositories[unit.repository];
  if (!unit.progress) return planner::plan_after(done.stage, info, repository.commit, result);
  const CampaignEntry& campaign = campaigns.at(repository.campaign);
  planner::record(*unit.progress, question_of(repository), done, result, fleet[worker].id);
  planner::UnitPlan plan =
      planner::plan_next(question_of(repository), info, repository.commit, *unit.progress);
  if (std::holds_alternative<planner::NextTask>(plan)) {
    write(UnitProgressed{unit.id, campaign.id, planner::progress_text(*unit.progress)});
  }
  return plan;
}

void Machine::State::write_comparison(const Unit& unit, const planner::Judgement& judgement,
                                      const UnitInfo* info) {
  const compare::Book& book = unit.progress->book;
  if (book.before.empty() && book.after.empty() && !book.change) return;
  const Repository& repository = repositories[unit.repository];
  const CampaignEntry& campaign = campaigns.at(repository.campaign);
  const UnitInfo known = info == nullptr ? UnitInfo{} : *info;
  const planner::Question& question = question_of(repository);
  const auto found = planner::conclusion_of(question, known, *unit.progress);
  nlohmann::json body = compare::record_of(book, judgement.verdict, found ? &*found : nullptr);
  body["sample"] = unit.progress->sample;
  if (const auto culprit = planner::culprit_of(question, known, *unit.progress)) {
    nlohmann::json modules = nlohmann::json::array();
    for (const ModuleTarget& target : culprit->modules) {
      modules.push_back({{"module", target.module}, {"version", target.version}});
    }
    body["culprit"] = {{"modules", std::move(modules)},
                       {"of", culprit->of},
                       {"probes", culprit->probes},
                       {"minimal", culprit->minimal}};
  }
  if (const auto& reused = unit.progress->reused) {
    body["baseline"] = {{"reused", true},
                        {"campaign", reused->campaign.text()},
                        {"unit", reused->unit.text()},
                        {"at", to_rfc3339(reused->at)}};
  } else {
    body["baseline"] = {{"reused", false}};
  }
  settle_baseline(unit, known, found ? &*found : nullptr);
  // Repeats of units that differ are no fair sample.
  if (!unit.progress->sample) body.erase("aa");
  write(UnitCompared{unit.id, campaign.id,
                     body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  for (std::size_t i = 0; found && i < found->flakes.size(); ++i) {
    const compare::Flake& flake = found->flakes[i];
    const compare::Mark& mark = book.marks[flake.mark];
    write(FlakeSeen{source_of(repository).repository(), known.module_path, mark.key, mark.signature,
                    flake.hits, flake.runs, campaign.id, now.wall});
  }
}

void Machine::State::finish_unit(Handle handle, const planner::Judgement& judgement,
                                 const UnitInfo* info, TaskId decided_by, double seconds) {
  while (units[handle].parked != kNoHandle) cancel_task(units[handle].parked);
  if (units[handle].task != kNoHandle) cancel_task(units[handle].task);
  const Unit& unit = units[handle];
  const Handle repository_handle = unit.repository;
  Repository& repository = repositories[repository_handle];
  CampaignEntry& campaign = campaign_of(repository);
  write(UnitFinished{unit.id, judgement.verdict, judgement.reason, judgement.fault,
                     judgement.message, judgement.decider ? judgement.decider : decided_by,
                     now.wall});
  if (unit.progress) write_comparison(unit, judgement, info);
  JsonLine body;
  body.text("unit", unit.id.text())
      .text("repository", source_of(repository).name())
      .text("module", info == nullptr ? "" : info->module_path)
      .text("dir", info == nullptr ? "" : info->dir)
      .text("verdict", name(judgement.verdict))
      .text("reason", name(judgement.reason))
      .text("message", judgement.message)
      .number("seconds", seconds);
  event_line(campaign.id, "unit.finished", body);
  const auto verdict = static_cast<std::size_t>(judgement.verdict);
  ++campaign.verdicts.at(verdict);
  ++counters.units_finished.at(verdict);
  --campaign.open_units;
  touched.insert(repository.campaign);

  Handle* link = &repository.first_unit;
  while (*link != handle) link = &units[*link].next;
  *link = unit.next;
  units.remove(handle);
  if (repository.first_unit == kNoHandle) close_repository(repository_handle);
}

// Nothing is open there any more, so its workspace may go with its worker.
void Machine::State::close_repository(Handle handle) {
  Repository& repository = repositories[handle];
  if (repository.source_task != kNoHandle) cancel_task(repository.source_task);
  moves.erase(handle);
  set_holder(handle, kNoHandle);
}

void Machine::State::set_holder(Handle handle, Handle worker) {
  Repository& repository = repositories[handle];
  if (repository.holder != kNoHandle) --fleet[repository.holder].workspaces;
  repository.holder = worker;
  if (worker != kNoHandle) ++fleet[worker].workspaces;
}

}  // namespace cupel::coordinator
