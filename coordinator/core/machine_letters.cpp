// Dead letters: asked again, or left as they are.
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {

std::string Machine::State::obstacle_to_replay(const ReplayDeadLetter& event) const {
  const DeadLetterRow& letter = event.letter;
  if (letter.state != DeadLetterState::open)
    return "was " + std::string(name(letter.state)) + " already";
  if (letter.kind == TaskKind::tool) return "is a tool's, which is built again when it is needed";
  if (event.units.empty()) return "decided no verdict";
  for (const UnitRow& unit : event.units) {
    if (!unit.verdict) return "belongs to a unit that is still open";
  }
  const Handle known = find_campaign(letter.campaign);
  if (known == kNoHandle) {
    if (event.campaign.state != CampaignState::finished)
      return "belongs to a campaign that is " + std::string(name(event.campaign.state));
    const std::int64_t ends =
        event.campaign.created.us + static_cast<std::int64_t>(event.asked.deadline_s) * 1'000'000;
    if (event.asked.deadline_s > 0 && ends <= now.wall.us)
      return "belongs to a campaign whose deadline has passed";
    return {};
  }
  const CampaignEntry& campaign = campaigns.at(known);
  if (campaign.cancelling) return "belongs to a campaign that is being cancelled";
  // What was read from the store may be old: another request can have opened the unit meanwhile.
  for (const Handle repository : campaign.repositories) {
    if (repositories[repository].id != letter.repository) continue;
    if (event.repository.commit.empty() && !repositories[repository].acquired)
      return "belongs to a repository that is being acquired";
    for (Handle unit = repositories[repository].first_unit; unit != kNoHandle;
         unit = units[unit].next) {
      if (std::ranges::find(event.units, units[unit].id, &UnitRow::id) != event.units.end())
        return "belongs to a unit that is still open";
    }
  }
  return {};
}

void Machine::State::on(ReplayDeadLetter& event) {
  const TaskId task = event.letter.task;
  if (const std::string obstacle = obstacle_to_replay(event); !obstacle.empty()) {
    return reply(event.request,
                 failure(Errc::conflict, "dead letter " + task.text() + " " + obstacle));
  }
  const Handle campaign = campaign_for(event);
  const Handle repository = repository_for(campaign, event.repository);
  ++counters.dead_letters_replayed;
  write(DeadLetterHandled{task, event.letter.unit, DeadLetterState::replayed, now.wall});
  this->event(campaigns.at(campaign).id, "deadletter.replayed",
              {{"task", task.text()}, {"units", event.units.size()}});
  if (event.repository.commit.empty()) {
    ask_repository_again(repository, event.units);
  } else {
    ask_units_again(repository, event.repository, event.units);
  }
  after_commit(Reply{event.request, Reply::Done{event.letter.campaign, false}});
}

Handle Machine::State::campaign_for(ReplayDeadLetter& event) {
  const Handle known = find_campaign(event.letter.campaign);
  if (known != kNoHandle) return known;
  CampaignEntry entry = entry_of(event.campaign, &event.asked);
  entry.state = CampaignState::running;
  for (const auto& [verdict, count] : event.verdicts) {
    entry.verdicts.at(static_cast<std::size_t>(verdict)) = count;
  }
  write(CampaignReopened{event.campaign.id, now.wall});
  this->event(event.campaign.id, "campaign.reopened", nlohmann::json::object());
  return open_campaign(std::move(entry), event.asked.max_parallel);
}

Handle Machine::State::repository_for(Handle campaign, const RepositoryRow& row) {
  for (const Handle known : campaigns.at(campaign).repositories) {
    if (repositories[known].id == row.id) return known;
  }
  const Handle handle = add_repository(campaign, row, source_of_row(row.source, row.subdirs));
  repositories[handle].acquired = true;
  return handle;
}

void Machine::State::ask_repository_again(Handle handle, const std::vector<UnitRow>& stand_ins) {
  Repository& repository = repositories[handle];
  CampaignEntry& campaign = campaign_of(repository);
  for (const UnitRow& unit : stand_ins) {
    write(UnitRemoved{unit.id});
    --campaign.verdicts.at(static_cast<std::size_t>(*unit.verdict));
  }
  repository.acquired = false;
  repository.failed.reset();
  ++campaign.open_repositories;
  create_task(handle, kNoHandle, {}, acquisition_of(repository));
}

// Each begins anew: what its earlier tasks found out is evidence, not a part of the new answer.
void Machine::State::ask_units_again(Handle handle, const RepositoryRow& row,
                                     const std::vector<UnitRow>& rows) {
  Repository& repository = repositories[handle];
  CampaignEntry& campaign = campaign_of(repository);
  repository.failed.reset();
  const bool held = repository.first_unit != kNoHandle;  // then its place is known already
  std::vector<std::pair<Handle, UnitInfo>> opened;
  for (const UnitRow& unit : rows) {
    write(UnitReopened{unit.id});
    --campaign.verdicts.at(static_cast<std::size_t>(*unit.verdict));
    UnitInfo info = unit_from_text(unit.info);
    const Handle made = open_unit(handle, unit, info, nullptr);
    opened.emplace_back(made, std::move(info));
  }
  if (!held && repository.source_task == kNoHandle) {
    set_holder(handle, known_worker(row.holder));
    if (repository.holder == kNoHandle) acquire_again(handle, "its holder is not known");
  }
  for (const auto& [unit, info] : opened) resume_unit(unit, info);
}

void Machine::State::on(DropDeadLetter& event) {
  const DeadLetterRow& letter = event.letter;
  if (letter.state != DeadLetterState::open) {
    return reply(event.request,
                 failure(Errc::conflict, "dead letter " + letter.task.text() + " was " +
                                             std::string(name(letter.state)) + " already"));
  }
  ++counters.dead_letters_dropped;
  write(DeadLetterHandled{letter.task, {}, DeadLetterState::dropped, now.wall});
  this->event(letter.campaign, "deadletter.dropped", {{"task", letter.task.text()}});
  after_commit(Reply{event.request, Reply::Done{letter.campaign, false}});
}

}  // namespace cupel::coordinator
