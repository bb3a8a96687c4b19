#include "tests/sim/fake_store.hpp"

#include <algorithm>

namespace cupel::sim {

using namespace coordinator;

std::string made_under(Token token) {
  return "made under token " + std::to_string(token.value);
}

void FakeStore::check(bool good, const std::string& what) {
  if (!good && broken_.empty()) broken_ = what;
}

void FakeStore::fresh_id(std::uint64_t id) {
  check(id <= sequences_.ids, "an id was used before it was reserved");
  check(ids_.insert(id).second, "an id was given out twice");
}

FakeStore::Answer FakeStore::apply(const std::vector<Transition>& batch) {
  answer_ = {};
  for (const Transition& transition : batch) {
    std::visit([this](const auto& known) { on(known); }, transition);
  }
  return answer_;
}

void FakeStore::on(const CampaignCreated& t) {
  fresh_id(t.campaign.id.value);
  for (const auto& [id, other] : campaigns_) {
    check(t.campaign.idempotency_key.empty() || other.owner != t.campaign.owner ||
              other.idempotency_key != t.campaign.idempotency_key,
          "two campaigns with one idempotency key");
  }
  campaigns_[t.campaign.id] = t.campaign;
}

void FakeStore::on(const CampaignChanged& t) {
  CampaignRow& row = campaigns_.at(t.id);
  const bool over = row.state == CampaignState::finished || row.state == CampaignState::cancelled;
  check(!over, "a campaign that was over has changed");
  row.state = t.state;
  if (t.state == CampaignState::finished || t.state == CampaignState::cancelled) {
    row.finished = t.at;
    for (const auto& [id, unit] : units_) {
      check(unit.campaign != t.id || unit.verdict.has_value(),
            "a campaign ended with an open unit");
    }
    for (const auto& [id, task] : tasks_) {
      const bool open = task.row.state == TaskState::blocked ||
                        task.row.state == TaskState::queued || task.row.state == TaskState::leased;
      check(task.row.campaign != t.id || !open, "a campaign ended with an open task");
    }
  }
}

void FakeStore::on(const RepositoryCreated& t) {
  fresh_id(t.repository.id.value);
  for (const auto& [id, other] : repositories_) {
    check(other.campaign != t.repository.campaign || other.ordinal != t.repository.ordinal,
          "a repository was created twice");
  }
  repositories_[t.repository.id] = t.repository;
}

void FakeStore::on(const RepositoryPinned& t) {
  RepositoryRow& row = repositories_.at(t.id);
  check(row.commit.empty(), "a repository was pinned twice");
  row.commit = t.commit;
  row.tree = t.tree;
  row.holder = t.holder;
}

void FakeStore::on(const RepositoryHolder& t) {
  repositories_.at(t.id).holder = t.holder;
}

void FakeStore::on(const UnitCreated& t) {
  fresh_id(t.unit.id.value);
  check(unit_places_.emplace(t.unit.repository.value, t.unit.info).second,
        "a unit was created twice");
  units_[t.unit.id] = t.unit;
}

void FakeStore::on(const UnitFinished& t) {
  UnitRow& row = units_.at(t.id);
  check(!row.verdict, "a unit got two verdicts");
  row.verdict = t.verdict;
  if (t.verdict == Verdict::cancelled) ending_.insert(row.campaign);
  row.reason = t.reason;
  row.fault = t.fault;
  row.message = t.message;
  row.deciding_task = t.deciding_task;
  row.finished = t.at;
}

void FakeStore::on(const UnitProgressed& t) {
  check(!units_.at(t.id).verdict, "a judged unit made progress");
  progress_[t.id] = t;
}
void FakeStore::on(const UnitCompared& t) {
  check(compared_.insert(t.id).second, "a unit was compared twice");
  progress_.erase(t.id);
}
void FakeStore::on(const FlakeSeen& t) {
  check(t.hits > 0 && t.hits < t.runs, "a flake that never came or never went");
}

void FakeStore::on(const BaselineKept& t) {
  check(units_.at(t.unit).verdict.has_value(), "the before side of an open unit was kept");
  check(t.at < t.expires, "a before side was kept that holds for no time");
  baselines_[t.name] = t;
}
void FakeStore::on(const BaselineDropped& t) {
  baselines_.erase(t.name);
}
void FakeStore::on(const BaselineWanted& t) {
  check(!units_.at(t.unit).verdict, "a judged unit asked for a before side");
  answer_.baselines.merge(answer_of({t}).baselines);
}

void FakeStore::on(const TaskCreated& t) {
  fresh_id(t.task.id.value);
  for (const auto& [id, other] : tasks_) {
    const bool open = other.row.state == TaskState::blocked ||
                      other.row.state == TaskState::queued || other.row.state == TaskState::leased;
    const bool same = other.row.repository == t.task.repository && other.row.unit == t.task.unit &&
                      other.row.kind == t.task.kind && other.row.step == t.task.step;
    check(!open || !same, "a task was created twice");
  }
  TaskRecord record;
  record.row = t.task;
  record.spec = t.spec;
  tasks_[t.task.id] = std::move(record);
}

void FakeStore::on(const TaskLeased& t) {
  TaskRecord& task = tasks_.at(t.id);
  check(task.row.state == TaskState::queued, "a task was leased that was not queued");
  check(t.token.value > highest_token_, "a token did not grow");
  check(t.token.value <= sequences_.tokens, "a token was used before it was reserved");
  check(!task.row.preferred || task.row.preferred == t.worker,
        "a bound task was leased to another worker");
  check(campaigns_.at(task.row.campaign).state != CampaignState::paused,
        "a paused campaign has started a task");
  if (const auto ordered = controls_.find(t.worker); ordered != controls_.end()) {
    check(!ordered->second.draining, "a worker that drains got a task");
    check(ordered->second.quarantine == Quarantine::none, "a worker in quarantine got a task");
  }
  check_share(task.row);
  highest_token_ = std::max(highest_token_, t.token.value);
  task.row.state = TaskState::leased;
  task.row.token = t.token;
  task.row.worker = t.worker;
  answer_.specs[t.id] = task.spec;
}

void FakeStore::on(const TaskReturned& t) {
  TaskRecord& task = tasks_.at(t.id);
  check(task.row.state == TaskState::leased && task.row.token == t.token,
        "an attempt was returned that was not live");
  check(t.charged >= task.row.charged && t.interruptions >= task.row.interruptions,
        "a spent budget shrank");
  check(t.charged == task.row.charged || t.interruptions == task.row.interruptions,
        "one attempt was counted on both budgets");
  check(t.charged == task.row.charged || may_charge_.contains(t.token.value),
        "an interruption was charged to its task");
  task.row.state = t.state;
  task.row.charged = t.charged;
  task.row.interruptions = t.interruptions;
  task.row.not_before = t.not_before;
  task.ended.insert(t.token.value);
}

void FakeStore::on(const TaskFinished& t) {
  TaskRecord& task = tasks_.at(t.id);
  check(task.row.state == TaskState::leased && task.row.token == t.token,
        "a result was accepted without the live token");
  check(t.result->task == t.id && t.result->token == t.token, "a result of another attempt");
  // What ended without an answer has the words of whoever ended it.
  check(t.result->ending != Ending::completed || t.result->message == made_under(t.token),
        "a result was accepted that an old attempt made");
  ++task.results;
  check(task.results == 1, "a task has two accepted results");
  task.row.state = TaskState::done;
  task.last = *t.result;
  task.ended.insert(t.token.value);
}

void FakeStore::on(const TaskStateChanged& t) {
  TaskRecord& task = tasks_.at(t.id);
  const TaskState before = task.row.state;
  const bool over = before == TaskState::dead || before == TaskState::cancelled;
  check(!over, "a task that was over has changed");
  check(before != TaskState::done || t.state == TaskState::dead, "a done task was opened again");
  check(before != TaskState::leased || t.state == TaskState::cancelled,
        "a leased task changed without an end of its attempt");
  if (before == TaskState::leased) task.ended.insert(task.row.token.value);
  if (t.state == TaskState::cancelled && !task.row.unit) ending_.insert(task.row.campaign);
  task.row.state = t.state;
  task.row.preferred = t.preferred;
}

void FakeStore::on(const DeadLetterAdded& t) {
  check(tasks_.contains(t.letter.task), "a dead letter of no task");
  check(letters_.emplace(t.letter.task, t.letter).second, "a task died twice");
}
void FakeStore::on(const DeadLetterHandled& t) {
  for (auto& [task, letter] : letters_) {
    const bool meant = task == t.task || (t.unit && letter.unit == t.unit);
    if (meant && letter.state == DeadLetterState::open) letter.state = t.state;
  }
}
void FakeStore::on(const CampaignReopened& t) {
  CampaignRow& row = campaigns_.at(t.id);
  check(row.state == CampaignState::finished, "a campaign was opened again that was not finished");
  row.state = CampaignState::running;
  row.finished = {};
}
void FakeStore::on(const UnitReopened& t) {
  UnitRow& row = units_.at(t.id);
  check(row.verdict.has_value(), "a unit was opened again that was open");
  row.verdict.reset();
  row.deciding_task = {};
  compared_.erase(t.id);
}
void FakeStore::on(const UnitRemoved& t) {
  const UnitRow& row = units_.at(t.id);
  check(repositories_.at(row.repository).commit.empty(),
        "a unit of a known repository was removed");
  unit_places_.erase({row.repository.value, row.info});
  units_.erase(t.id);
}

ReplayDeadLetter FakeStore::replay_of(TaskId task) const {
  ReplayDeadLetter event;
  event.letter = letters_.at(task);
  event.campaign = campaigns_.at(event.letter.campaign);
  if (event.letter.repository) event.repository = repositories_.at(event.letter.repository);
  for (const auto& [id, unit] : units_) {
    if (unit.campaign == event.letter.campaign && unit.verdict) ++event.verdicts[*unit.verdict];
    const bool own = event.letter.unit ? id == event.letter.unit : unit.deciding_task == task;
    if (own) event.units.push_back(unit);
  }
  return event;
}

void FakeStore::on(const WorkerSeen& t) {
  workers_[t.id] = t;
}
void FakeStore::on(const WorkerControls& t) {
  controls_[t.id] = t;
}
void FakeStore::on(const EventAppended& /*t*/) {
  ++events_;
}
void FakeStore::on(const SequencesReserved& t) {
  check(t.ids >= sequences_.ids && t.tokens >= sequences_.tokens, "a reservation shrank");
  sequences_ = t;
}

FakeStore::Answer FakeStore::answer_of(const std::vector<Transition>& batch) const {
  Answer answer;
  for (const Transition& transition : batch) {
    if (const auto* wanted = std::get_if<BaselineWanted>(&transition)) {
      const auto known = baselines_.find(wanted->name);
      if (known != baselines_.end() && known->second.expires > wanted->at) {
        const BaselineKept& kept = known->second;
        answer.baselines[wanted->unit] = {kept.campaign, kept.unit, kept.body, kept.at};
      }
    }
    const auto* leased = std::get_if<TaskLeased>(&transition);
    if (leased == nullptr) continue;
    const auto task = tasks_.find(leased->id);
    if (task != tasks_.end()) answer.specs[leased->id] = task->second.spec;
  }
  return answer;
}

Recovered FakeStore::recover() const {
  Recovered all;
  all.fleet = fleet_;
  all.sequences = sequences_;
  std::set<CampaignId> open;
  for (const auto& [id, row] : campaigns_) {
    if (row.state != CampaignState::running && row.state != CampaignState::paused) continue;
    open.insert(id);
    all.campaigns.push_back(row);
  }
  for (const auto& [id, row] : repositories_) {
    if (open.contains(row.campaign)) all.repositories.push_back(row);
  }
  for (const auto& [id, row] : units_) {
    if (open.contains(row.campaign)) all.units.push_back(row);
  }
  for (const auto& [id, known] : progress_) {
    if (open.contains(known.campaign)) all.progress.push_back(known);
  }
  for (const auto& [id, task] : tasks_) {
    const TaskState state = task.row.state;
    const bool live =
        state == TaskState::blocked || state == TaskState::queued || state == TaskState::leased;
    if (live && open.contains(task.row.campaign)) all.tasks.push_back(task.row);
  }
  for (const auto& [id, controls] : controls_) all.controls.push_back(controls);
  for (const auto& [id, seen] : workers_) all.workers.push_back(seen);
  return all;
}

bool FakeStore::all_over() const {
  return std::ranges::all_of(campaigns_, [](const auto& entry) {
    return entry.second.state == CampaignState::finished ||
           entry.second.state == CampaignState::cancelled;
  });
}

std::string FakeStore::verdicts(CampaignId campaign) const {
  std::vector<std::string> lines;
  for (const auto& [id, unit] : units_) {
    if (unit.campaign != campaign) continue;
    const std::uint32_t ordinal = repositories_.at(unit.repository).ordinal;
    lines.push_back(std::to_string(ordinal) + " " + unit.info + " " +
                    std::string(unit.verdict ? name(*unit.verdict) : "open"));
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace cupel::sim
