// Campaigns: made, paused, cancelled, finished.
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

bool is_local(const campaign::RepositoryEntry& entry) {
  return std::holds_alternative<campaign::LocalPath>(entry.source);
}

}  // namespace

// ---- the sources of a campaign, as one text
// ------------------------------------------------------

RepositorySource Machine::State::source_of(const Repository& repository) const {
  const std::string_view text = campaigns.at(repository.campaign).text;
  return read_source(text.substr(repository.source_at, repository.source_size));
}

AcquireSource Machine::State::acquisition_of(const Repository& repository) const {
  RepositorySource from = source_of(repository);
  AcquireSource work;
  if (auto* source = std::get_if<Source>(&from.source)) work.source = std::move(*source);
  work.pinned_commit = repository.commit;
  work.subdirs = std::move(from.subdirs);
  return work;
}

const planner::Question& Machine::State::question_of(const Repository& repository) const {
  const CampaignEntry& campaign = campaigns.at(repository.campaign);
  const auto own = campaign.own_questions.find(repository.ordinal);
  return own == campaign.own_questions.end() ? campaign.question : own->second;
}

Handle Machine::State::find_campaign(CampaignId id) const {
  const auto found = campaign_by_id.find(id);
  return found == campaign_by_id.end() ? kNoHandle : found->second;
}

void take_question(CampaignEntry& entry, const campaign::Campaign& asked) {
  entry.question = {asked.change, asked.confirm, asked.baseline};
  for (std::uint32_t i = 0; i < asked.repositories.size(); ++i) {
    if (asked.repositories[i].upgrade.empty()) continue;
    planner::Question own = entry.question;
    if (auto* upgrade = std::get_if<Upgrade>(&own.change)) {
      upgrade->modules = asked.repositories[i].upgrade;
      entry.own_questions.emplace(i, std::move(own));
    }
  }
  // The sample is spread over the list and is the same after a restart.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ranked;
  for (std::uint32_t i = 0; asked.aa > 0 && i < asked.repositories.size(); ++i) {
    ranked.emplace_back(hash_of(entry.digest + "/" + std::to_string(i)), i);
  }
  std::ranges::sort(ranked);
  for (std::size_t i = 0; i < ranked.size() && i < asked.aa; ++i) {
    entry.samples.insert(ranked[i].second);
  }
}

// ---- submit
// --------------------------------------------------------------------------------------

void Machine::State::on(SubmitCampaign& event) {
  campaign::Campaign& asked = event.campaign;
  if (asked.repositories.empty()) {
    return reply(event.request, failure(Errc::no_repositories, "the campaign names no repository"));
  }
  if (std::ranges::any_of(asked.repositories, is_local) || !asked.local_replacements.empty()) {
    return reply(event.request,
                 failure(Errc::bad_value,
                         "a local path must be packed by the client before it is submitted"));
  }
  const std::string owner = asked.owner.empty() ? event.owner : asked.owner;
  const std::string digest = sha256(event.document).hex();
  if (!event.idempotency_key.empty()) {
    for (auto& [handle, other] : campaigns) {
      if (other.owner != owner || other.idempotency_key != event.idempotency_key) continue;
      if (other.digest != digest) {
        return reply(event.request,
                     failure(Errc::conflict, "this idempotency key belongs to campaign " +
                                                 other.id.text() + " with another document"));
      }
      if (other.uncreated.empty()) {
        after_commit(Reply{event.request, Reply::Done{other.id, true}});
      } else {
        other.waiting_replies.emplace_back(event.request, true);
      }
      return;
    }
    // Two requests with one key may both have passed the store's look-up before the first of them
    // was written; a campaign that was judged at once is over by the time of the second.
    for (const FinishedKey& known : finished_keys) {
      if (known.owner != owner || known.key != event.idempotency_key) continue;
      if (known.digest != digest) {
        return reply(event.request,
                     failure(Errc::conflict, "this idempotency key belongs to campaign " +
                                                 known.id.text() + " with another document"));
      }
      after_commit(Reply{event.request, Reply::Done{known.id, true}});
      return;
    }
  }

  CampaignEntry entry;
  entry.id = CampaignId{next_id()};
  entry.owner = owner;
  entry.name = asked.name;
  entry.idempotency_key = event.idempotency_key;
  entry.digest = digest;
  entry.priority = asked.priority;
  entry.settings = asked.settings;
  take_question(entry, asked);
  entry.scan = asked.scan;
  entry.budgets = {asked.retries_infra, asked.retries_timeout};
  entry.has_deadline = asked.deadline_s > 0;
  entry.deadline = now.mono + std::chrono::seconds(asked.deadline_s);
  entry.waiting_replies.emplace_back(event.request, false);
  for (std::uint32_t i = 0; i < asked.repositories.size(); ++i) {
    entry.uncreated.emplace_back(i, std::move(asked.repositories[i]));
  }
  CampaignRow row;
  row.id = entry.id;
  row.owner = owner;
  row.name = entry.name;
  row.priority = entry.priority;
  row.document = std::move(event.document);
  row.digest = digest;
  row.idempotency_key = event.idempotency_key;
  row.created = now.wall;
  write(CampaignCreated{std::move(row)});
  this->event(entry.id, "campaign.created",
              {{"name", entry.name}, {"owner", owner}, {"repositories", entry.uncreated.size()}});
  step_campaign(open_campaign(std::move(entry), asked.max_parallel));
}

Handle Machine::State::open_campaign(CampaignEntry entry, std::uint32_t max_parallel) {
  const Handle handle = next_campaign++;
  scheduler.add_campaign(handle, scheduler.add_owner(entry.owner), entry.priority, max_parallel);
  scheduler.set_paused(handle, entry.state == CampaignState::paused);
  campaign_by_id[entry.id] = handle;
  campaigns.emplace(handle, std::move(entry));
  return handle;
}

void Machine::State::step_campaign(Handle handle) {
  const auto found = campaigns.find(handle);
  if (found == campaigns.end()) return;
  CampaignEntry& campaign = found->second;
  campaign.step_pending = false;
  if (!campaign.uncreated.empty()) {
    create_some(handle);
  } else if (campaign.cancelling) {
    cancel_some(handle);
  }
  touched.insert(handle);
}

void Machine::State::create_some(Handle handle) {
  CampaignEntry& campaign = campaigns.at(handle);
  for (std::uint32_t i = 0; i < settings.repositories_per_batch && !campaign.uncreated.empty();
       ++i) {
    auto [ordinal, entry] = std::move(campaign.uncreated.front());
    campaign.uncreated.pop_front();
    create_repository(handle, ordinal, entry);
  }
  if (campaign.uncreated.empty()) {
    campaign.uncreated.shrink_to_fit();
    campaign.text.shrink_to_fit();
    campaign.repositories.shrink_to_fit();
    for (const auto& [request, repeated] : campaign.waiting_replies) {
      after_commit(Reply{request, Reply::Done{campaign.id, repeated}});
    }
    campaign.waiting_replies.clear();
  }
  if (!campaign.uncreated.empty() || campaign.cancelling) {
    campaign.step_pending = true;
    after_commit(StepOn{handle});
  }
}

void Machine::State::create_repository(Handle campaign_handle, std::uint32_t ordinal,
                                       campaign::RepositoryEntry& entry) {
  CampaignEntry& campaign = campaigns.at(campaign_handle);
  RepositoryRow row;
  row.id = RepositoryId{next_id()};
  row.campaign = campaign.id;
  row.ordinal = ordinal;
  const RepositorySource source = source_of_entry(entry);
  row.name = source.name();
  row.source = row_source(entry);
  row.subdirs = std::move(entry.subdirs);
  const Handle handle = add_repository(campaign_handle, row, source);
  write(RepositoryCreated{std::move(row)});
  ++campaign.open_repositories;
  if (const auto* refused = std::get_if<campaign::RefusedSource>(&entry.source)) {
    repositories[handle].acquired = true;
    --campaign.open_repositories;
    add_unit(handle, planner::refused_repository(*refused), {});
    return;
  }
  create_task(handle, kNoHandle, {}, acquisition_of(repositories[handle]));
}

Handle Machine::State::add_repository(Handle campaign_handle, const RepositoryRow& row,
                                      const RepositorySource& source) {
  CampaignEntry& campaign = campaigns.at(campaign_handle);
  Repository repository;
  repository.id = row.id;
  repository.campaign = campaign_handle;
  repository.ordinal = row.ordinal;
  repository.commit = row.commit;
  repository.source_at = static_cast<std::uint32_t>(campaign.text.size());
  append_source(campaign.text, source);
  repository.source_size = static_cast<std::uint32_t>(campaign.text.size()) - repository.source_at;
  const Handle handle = repositories.add(std::move(repository));
  campaign.repositories.push_back(handle);
  return handle;
}

// ---- pause, cancel, finish
// -------------------------------------------------------------------------

void Machine::State::set_paused(RequestId request, CampaignId id, bool paused) {
  const Handle handle = find_campaign(id);
  if (handle == kNoHandle) {
    return reply(request, failure(Errc::not_found, "no open campaign " + id.text()));
  }
  CampaignEntry& campaign = campaigns.at(handle);
  if (campaign.cancelling) {
    return reply(request, failure(Errc::conflict, "campaign " + id.text() + " is cancelled"));
  }
  const auto wanted = paused ? CampaignState::paused : CampaignState::running;
  if (campaign.state == wanted) return after_commit(Reply{request, Reply::Done{id, false, {}}});
  campaign.state = wanted;
  scheduler.set_paused(handle, paused);
  write(CampaignChanged{id, campaign.state, now.wall});
  event(id, paused ? "campaign.paused" : "campaign.resumed", nlohmann::json::object());
  after_commit(Reply{request, Reply::Done{id, false}});
}

void Machine::State::on(PauseCampaign& event) {
  set_paused(event.request, event.campaign, true);
}
void Machine::State::on(ResumeCampaign& event) {
  set_paused(event.request, event.campaign, false);
}

void Machine::State::on(CancelCampaign& event) {
  const Handle handle = find_campaign(event.campaign);
  if (handle == kNoHandle) {
    return reply(event.request,
                 failure(Errc::not_found, "no open campaign " + event.campaign.text()));
  }
  campaigns.at(handle).cancel_replies.push_back(event.request);
  start_cancel(handle, "the campaign was cancelled");
}

void Machine::State::start_cancel(Handle handle, std::string why) {
  CampaignEntry& campaign = campaigns.at(handle);
  if (campaign.cancelling) return;
  campaign.cancelling = true;
  campaign.cancel_why = std::move(why);
  scheduler.set_paused(handle, true);
  drop_tools(handle);
  if (!campaign.step_pending) step_campaign(handle);
}

void Machine::State::cancel_some(Handle handle) {
  CampaignEntry& campaign = campaigns.at(handle);
  for (std::uint32_t i = 0; i < settings.repositories_per_batch; ++i) {
    if (campaign.cancel_next == campaign.repositories.size()) return;
    cancel_repository(campaign.repositories[campaign.cancel_next++], campaign.cancel_why);
  }
  if (campaign.cancel_next < campaign.repositories.size()) {
    campaign.step_pending = true;
    after_commit(StepOn{handle});
  }
}

void Machine::State::cancel_repository(Handle handle, const std::string& why) {
  Repository& repository = repositories[handle];
  if (repository.source_task != kNoHandle) cancel_task(repository.source_task);
  const planner::Judgement judgement = planner::judge_cancelled(why);
  while (repository.first_unit != kNoHandle) {
    finish_unit(repository.first_unit, judgement, nullptr, {}, 0);
  }
  if (repository.acquired) return;
  repository.acquired = true;
  --campaign_of(repository).open_repositories;
  add_unit(handle, planner::whole_repository(judgement), {});
}

void Machine::State::cancel_task(Handle handle) {
  Task& task = tasks[handle];
  if (task.state == TaskState::leased) {
    if (const Attempt* attempt = leases.of_task(task.id)) {
      if (attempt->sent) promise_send(attempt->worker, CancelTask{{task.id, attempt->token}});
      end_attempt(task.id, true);
    }
  } else if (task.state == TaskState::queued) {
    scheduler.remove(handle);
  }
  write(TaskStateChanged{task.id, TaskState::cancelled, {}, now.wall});
  if (task.unit != kNoHandle) {
    Unit& unit = units[task.unit];
    if (unit.task == handle) {
      unit.task = kNoHandle;
    } else {
      Handle* link = &unit.parked;
      while (*link != handle) link = &tasks[*link].waiter;
      *link = task.waiter;
    }
  }
  drop_task(handle);
}

void Machine::State::check_finished(Handle handle) {
  const auto found = campaigns.find(handle);
  if (found == campaigns.end()) return;
  CampaignEntry& campaign = found->second;
  if (campaign.step_pending || !campaign.uncreated.empty()) return;
  if (campaign.open_repositories > 0 || campaign.open_units > 0) return;
  if (campaign.cancelling && campaign.cancel_next < campaign.repositories.size()) return;
  drop_tools(handle);
  campaign.state = campaign.cancelling ? CampaignState::cancelled : CampaignState::finished;
  ++(campaign.cancelling ? counters.campaigns_cancelled : counters.campaigns_finished);
  write(CampaignChanged{campaign.id, campaign.state, now.wall});
  nlohmann::json verdicts = nlohmann::json::object();
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    if (campaign.verdicts.at(i) > 0) {
      verdicts[std::string(name(static_cast<Verdict>(i)))] = campaign.verdicts.at(i);
    }
  }
  event(campaign.id, "campaign.finished",
        {{"verdicts", std::move(verdicts)}, {"state", name(campaign.state)}});
  for (const RequestId request : campaign.cancel_replies) {
    after_commit(Reply{request, Reply::Done{campaign.id, false}});
  }
  for (const Handle repository : campaign.repositories) {
    set_holder(repository, kNoHandle);
    repositories.remove(repository);
  }
  scheduler.remove_campaign(handle);
  if (!campaign.idempotency_key.empty()) {
    finished_keys.push_back(
        {campaign.owner, campaign.idempotency_key, campaign.digest, campaign.id});
    if (finished_keys.size() > kFinishedKeysMax) finished_keys.pop_front();
  }
  campaign_by_id.erase(campaign.id);
  campaigns.erase(found);
}

void Machine::State::check_deadlines() {
  for (auto& [handle, campaign] : campaigns) {
    if (campaign.has_deadline && !campaign.cancelling && campaign.deadline <= now.mono) {
      start_cancel(handle, "the campaign's deadline passed");
    }
  }
}

}  // namespace cupel::coordinator
