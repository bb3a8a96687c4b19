// From the store's records back to what the machine knows.
#include "common/core/json.hpp"
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
UnitInfo unit_from_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  auto info = unit_from_json(json);
  return info ? *std::move(info) : UnitInfo{};
}

CampaignEntry Machine::State::entry_of(const CampaignRow& row,
                                       const campaign::Campaign* asked) const {
  CampaignEntry entry;
  entry.id = row.id;
  entry.owner = row.owner;
  entry.name = row.name;
  entry.idempotency_key = row.idempotency_key;
  entry.digest = row.digest;
  entry.priority = row.priority;
  entry.state = row.state;
  if (asked == nullptr) return entry;
  entry.settings = asked->settings;
  take_question(entry, *asked);
  entry.scan = asked->scan;
  entry.budgets = {asked->retries_infra, asked->retries_timeout};
  entry.has_deadline = asked->deadline_s > 0;
  // The wall clock may have jumped either way; never longer than the whole deadline.
  const auto limit = static_cast<std::int64_t>(asked->deadline_s) * 1'000'000;
  const std::int64_t left =
      std::clamp<std::int64_t>(row.created.us + limit - now.wall.us, 0, limit);
  entry.deadline = now.mono + std::chrono::microseconds(left);
  return entry;
}

Handle Machine::State::open_unit(Handle repository, const UnitRow& row, const UnitInfo& info,
                                 const std::string* progress) {
  Repository& home = repositories[repository];
  CampaignEntry& campaign = campaign_of(home);
  Unit unit;
  unit.id = row.id;
  unit.repository = repository;
  unit.next = home.first_unit;
  unit.dir_hash = hash_of(info.dir);
  unit.vendored = info.vendored;
  if (campaign.question.compares() || campaign.samples.contains(home.ordinal)) {
    unit.progress = std::make_unique<planner::Progress>(
        progress == nullptr ? planner::Progress{} : planner::progress_from_text(*progress));
    unit.progress->sample = campaign.samples.contains(home.ordinal);
  }
  const Handle handle = units.add(std::move(unit));
  home.first_unit = handle;
  ++campaign.open_units;
  return handle;
}

Handle Machine::State::known_worker(WorkerId id) {
  if (!id) return kNoHandle;
  const Handle known = fleet.by_id(id);
  if (known != kNoHandle) return known;
  return fleet.restore({.id = id, .name = {}, .key = {}, .host = {}, .version = {}, .at = {}},
                       now.mono);
}

void Machine::State::recover(const Recovered& recovered,
                             std::map<CampaignId, campaign::Campaign> parsed) {
  fleet_id = recovered.fleet;
  ids = Sequence(recovered.sequences.ids, settings.ids_per_reservation);
  tokens = Sequence(recovered.sequences.tokens, settings.tokens_per_reservation);
  for (const WorkerSeen& seen : recovered.workers) fleet.restore(seen, now.mono);
  for (const WorkerControls& known : recovered.controls) fleet.restore(known, now);
  for (const ToolFacts& tool : recovered.tools) tools.restore(tool);

  std::vector<Handle> unreadable;
  for (const CampaignRow& row : recovered.campaigns) {
    const auto found = parsed.find(row.id);
    campaign::Campaign* asked = found == parsed.end() ? nullptr : &found->second;
    CampaignEntry entry = entry_of(row, asked);
    const std::uint32_t max_parallel = asked == nullptr ? 0 : asked->max_parallel;
    for (std::uint32_t i = 0; asked != nullptr && i < asked->repositories.size(); ++i) {
      entry.uncreated.emplace_back(i, std::move(asked->repositories[i]));
    }
    const Handle handle = open_campaign(std::move(entry), max_parallel);
    if (asked == nullptr) unreadable.push_back(handle);
    touched.insert(handle);
  }

  std::map<RepositoryId, Handle> repository_of;
  std::map<Handle, std::set<std::uint32_t>> created;
  for (const RepositoryRow& row : recovered.repositories) {
    const Handle campaign = find_campaign(row.campaign);
    if (campaign == kNoHandle) continue;
    const Handle handle = add_repository(campaign, row, source_of_row(row.source, row.subdirs));
    repository_of[row.id] = handle;
    created[campaign].insert(row.ordinal);
    repositories[handle].acquired = !row.commit.empty();
    set_holder(handle, known_worker(row.holder));
  }
  for (auto& [handle, campaign] : campaigns) {
    std::erase_if(campaign.uncreated,
                  [&](const auto& entry) { return created[handle].contains(entry.first); });
  }

  std::map<UnitId, Handle> unit_of_id;
  std::map<Handle, UnitInfo> infos;
  std::map<UnitId, const std::string*> progress_of;
  for (const UnitProgressed& known : recovered.progress) progress_of[known.id] = &known.body;
  for (const UnitRow& row : recovered.units) {
    const auto repository = repository_of.find(row.repository);
    if (repository == repository_of.end()) continue;
    Repository& home = repositories[repository->second];
    home.acquired = true;
    CampaignEntry& campaign = campaign_of(home);
    if (row.verdict) {
      ++campaign.verdicts.at(static_cast<std::size_t>(*row.verdict));
      continue;
    }
    UnitInfo info = unit_from_text(row.info);
    const auto known = progress_of.find(row.id);
    const Handle handle = open_unit(repository->second, row, info,
                                    known == progress_of.end() ? nullptr : known->second);
    unit_of_id[row.id] = handle;
    infos[handle] = std::move(info);
  }
  for (auto& [id, handle] : repository_of) {
    Repository& repository = repositories[handle];
    if (!repository.acquired) ++campaign_of(repository).open_repositories;
    if (repository.acquired && repository.first_unit == kNoHandle) set_holder(handle, kNoHandle);
  }

  for (const TaskRow& row : recovered.tasks) {
    recover_task(row, repository_of, unit_of_id, infos, known_worker(row.preferred),
                 known_worker(row.worker));
  }
  for (auto& [id, handle] : repository_of) resume_repository(handle, infos);
  for (const Handle handle : unreadable) {
    start_cancel(handle, "the campaign's stored document can't be read");
  }
  std::vector<Handle> unfinished;
  for (auto& [handle, campaign] : campaigns) {
    if (!campaign.uncreated.empty() && !campaign.step_pending) unfinished.push_back(handle);
  }
  for (const Handle handle : unfinished) step_campaign(handle);
}

void Machine::State::recover_task(const TaskRow& row,
                                  const std::map<RepositoryId, Handle>& repository_of,
                                  const std::map<UnitId, Handle>& unit_of_id,
                                  const std::map<Handle, UnitInfo>& infos, Handle preferred,
                                  Handle worker) {
  if (row.kind == TaskKind::tool) {
    // Whoever still needs it asks anew; a late answer of its attempt counts for nothing.
    write(TaskStateChanged{row.id, TaskState::cancelled, {}, now.wall});
    return;
  }
  const auto home = repository_of.find(row.repository);
  if (home == repository_of.end()) return;
  const auto unit = unit_of_id.find(row.unit);
  if (row.unit && unit == unit_of_id.end()) return;  // its unit is judged
  Repository& repository = repositories[home->second];
  Task task;
  task.id = row.id;
  task.campaign = repository.campaign;
  task.repository = home->second;
  task.unit = row.unit ? unit->second : kNoHandle;
  task.preferred = preferred;
  // Where it came from is not on record: what can't be had there is for anybody.
  if (!row.unit && preferred != kNoHandle) moves[home->second] = {kNoHandle, preferred};
  task.kind = row.kind;
  task.step = row.step;
  task.state = row.state;
  task.charged = row.charged;
  task.interruptions = row.interruptions;
  // The wall clock may have jumped either way: never longer than the whole back-off.
  const std::uint32_t spent = std::uint32_t{row.charged} + row.interruptions;
  const Duration whole = spent == 0 ? Duration::zero() : backoff(task, spent - 1);
  const auto most = std::chrono::duration_cast<std::chrono::microseconds>(whole).count();
  const std::int64_t delay = std::clamp<std::int64_t>(row.not_before.us - now.wall.us, 0, most);
  task.not_before = now.mono + std::chrono::microseconds(delay);
  task.ready = {std::min(row.ready.us, now.wall.us + delay)};
  if (task.state == TaskState::leased && worker == kNoHandle) {
    // A damaged record: nobody can answer for the attempt.
    write(TaskReturned{row.id, row.token, TaskState::queued, row.charged, row.interruptions,
                       now.wall, now.wall, "its record named no worker"});
    task.state = TaskState::queued;
  }
  const Handle handle = tasks.add(task);

  if (task.unit == kNoHandle) {
    repository.source_task = handle;
  } else {
    Unit& record = units[task.unit];
    const planner::Step step = planner::Step::unpacked(row.step);
    // What waits is of a later stage than what it waits for.
    Handle* link = &record.task;
    if (*link != kNoHandle && planner::Step::unpacked(tasks[*link].step).stage > step.stage) {
      park(unit->second, std::exchange(record.task, handle));
    } else if (*link == kNoHandle) {
      record.task = handle;
    } else {
      link = &record.parked;
      while (*link != kNoHandle && planner::Step::unpacked(tasks[*link].step).stage < step.stage) {
        link = &tasks[*link].waiter;
      }
      tasks[handle].waiter = std::exchange(*link, handle);
    }
    // It got its place at the holder only once everything that it needs was there.
    if (row.state != TaskState::blocked) {
      for (const planner::Step need :
           planner::needs(step, question_of(repository), record.vendored)) {
        put_place(record, need, repository.holder);
      }
    }
  }
  if (task.state == TaskState::queued) {
    start_waiting(handle);
  } else if (task.state == TaskState::leased) {
    Attempt attempt;
    attempt.id = row.id;
    attempt.token = row.token;
    attempt.task = handle;
    attempt.worker = worker;
    attempt.granted = now.mono;
    attempt.expires = now.mono + settings.lease;
    attempt.ends = now.mono + settings.task_max;
    attempt.sent = true;
    attempt.recovered = true;
    if (task.unit == kNoHandle) {
      attempt.work = acquisition_of(repository);
    } else {
      attempt.work =
          planner::work_of(planner::Step::unpacked(row.step), question_of(repository),
                           infos.at(task.unit), repository.commit, units[task.unit].progress.get());
    }
    if (attempt.work) attempt.ends = now.mono + life_of(*attempt.work, handle);
    leases.add(std::move(attempt));
    fleet[worker].leases.insert(row.id);
    scheduler.started(task.campaign);
  }
}

// What a stop in the middle can have left: an open unit without a task that can run.
void Machine::State::resume_repository(Handle handle, const std::map<Handle, UnitInfo>& infos) {
  Repository& repository = repositories[handle];
  if (repository.source_task != kNoHandle) return;
  if (!repository.acquired) {
    create_task(handle, kNoHandle, {}, acquisition_of(repository));
    return;
  }
  if (repository.first_unit == kNoHandle) return;
  if (repository.holder == kNoHandle) {
    acquire_again(handle, "its holder is not known");
  }
  for (Handle unit = repository.first_unit; unit != kNoHandle;) {
    const Handle next = units[unit].next;
    const UnitInfo& info = infos.at(unit);
    const Handle task = units[unit].task;
    if (task == kNoHandle) {
      resume_unit(unit, info);
    } else if (tasks[task].state == TaskState::blocked && repository.source_task == kNoHandle) {
      place(task, &info);
    }
    unit = next;
  }
}

void Machine::State::resume_unit(Handle unit, const UnitInfo& info) {
  planner::UnitPlan plan = plan_from_start(unit, info);
  if (auto* step = std::get_if<planner::NextTask>(&plan)) {
    go_on(unit, std::move(*step), info);
  } else {
    finish_unit(unit, std::get<planner::Judgement>(plan), &info, {}, 0);
  }
}

}  // namespace cupel::coordinator
