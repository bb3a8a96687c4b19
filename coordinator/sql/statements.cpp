#include "coordinator/sql/statements.hpp"

#include "common/core/json_text.hpp"
#include "common/core/utf8.hpp"
#include "coordinator/sql/event_packs.hpp"
#include "coordinator/sql/statement_set.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

void merge(UnitRow& row, const UnitFinished& finished) {
  row.verdict = finished.verdict;
  row.reason = finished.reason;
  row.fault = finished.fault;
  row.message = finished.message;
  row.deciding_task = finished.deciding_task;
  row.finished = finished.at;
}

Error mismatch(std::string what) {
  return {.code = Errc::store_failed, .what = std::move(what), .detail = {}, .hint = {}};
}

}  // namespace

bool Statements::All::run(soci::statement& statement) {
  if (clean) {
    for (std::string* text : {&text1, &text2, &text3, &text4, &text5, &state, &how}) {
      if (!is_clean_text(*text)) *text = clean_text(*text);
    }
  }
  return statement.execute(true);
}

Result<void> Statements::All::one_row(soci::statement& statement, std::string_view what,
                                      std::uint64_t of) {
  run(statement);
  if (statement.get_affected_rows() == 1) return {};
  return mismatch("the store refused to " + std::string(what) + " " + std::to_string(of) +
                  ": its row is not in the state for it");
}

Result<void> Statements::All::operator()(const CampaignCreated& t) {
  const CampaignRow& row = t.campaign;
  id = to_sql(row.id.value);
  text1 = row.owner;
  text2 = row.name;
  number1 = row.priority;
  state = name(row.state);
  text3 = row.document;
  text4 = row.digest;
  text5 = row.idempotency_key;
  at = row.created.us;
  run(insert_campaign);
  return {};
}

Result<void> Statements::All::operator()(const CampaignChanged& t) {
  id = to_sql(t.id.value);
  state = name(t.state);
  const bool over = t.state == CampaignState::finished || t.state == CampaignState::cancelled;
  number1 = over ? t.at.us : 0;
  return one_row(change_campaign, "change campaign", t.id.value);
}

Result<void> Statements::All::operator()(const RepositoryCreated& t) {
  const RepositoryRow& row = t.repository;
  id = to_sql(row.id.value);
  campaign = to_sql(row.campaign.value);
  number1 = row.ordinal;
  text1 = row.name;
  text2 = row.source;
  text3 = nlohmann::json(row.subdirs).dump();
  text4 = row.commit;
  text5 = row.tree;
  worker = to_sql(row.holder.value);
  at = row.committed.us;
  run(insert_repository);
  return {};
}

Result<void> Statements::All::operator()(const RepositoryPinned& t) {
  id = to_sql(t.id.value);
  text1 = t.commit;
  text2 = t.tree;
  worker = to_sql(t.holder.value);
  at = t.committed.us;
  return one_row(pin_repository, "pin repository", t.id.value);
}

Result<void> Statements::All::operator()(const RepositoryHolder& t) {
  id = to_sql(t.id.value);
  worker = to_sql(t.holder.value);
  return one_row(hold_repository, "change the holder of repository", t.id.value);
}

Result<void> Statements::All::operator()(const UnitCreated& t) {
  const UnitRow& row = t.unit;
  id = to_sql(row.id.value);
  campaign = to_sql(row.campaign.value);
  repository = to_sql(row.repository.value);
  text1 = row.info;
  text2 = row.verdict ? std::string(name(*row.verdict)) : std::string();
  text3 = name(row.reason);
  text4 = name(row.fault);
  text5 = row.message;
  task = to_sql(row.deciding_task.value);
  at = row.finished.us;
  run(insert_unit);
  return {};
}

Result<void> Statements::All::operator()(const UnitFinished& t) {
  id = to_sql(t.id.value);
  text1 = name(t.verdict);
  text2 = name(t.reason);
  text3 = name(t.fault);
  text4 = t.message;
  task = to_sql(t.deciding_task.value);
  at = t.at.us;
  return one_row(finish_unit, "finish unit", t.id.value);
}

Result<void> Statements::All::operator()(const UnitProgressed& t) {
  id = to_sql(t.id.value);
  campaign = to_sql(t.campaign.value);
  text1 = t.body;
  run(put_progress);
  return {};
}

Result<void> Statements::All::operator()(const UnitCompared& t) {
  id = to_sql(t.id.value);
  campaign = to_sql(t.campaign.value);
  text1 = t.body;
  run(put_comparison);
  run(drop_progress);
  return {};
}

Result<void> Statements::All::operator()(const FlakeSeen& t) {
  text1 = sha256(t.repository + '\0' + t.module + '\0' + t.key + '\0' + t.signature).hex();
  text2 = t.repository;
  text3 = t.module;
  text4 = t.key;
  text5 = t.signature;
  number1 = t.hits;
  number2 = t.runs;
  campaign = to_sql(t.campaign.value);
  at = t.at.us;
  run(see_flake);
  return {};
}

Result<void> Statements::All::operator()(const BaselineKept& t) {
  at = t.at.us;
  run(expire_baselines);
  text1 = t.name;
  campaign = to_sql(t.campaign.value);
  unit = to_sql(t.unit.value);
  text2 = t.body;
  not_before = t.expires.us;
  run(keep_baseline);
  return {};
}

Result<void> Statements::All::operator()(const BaselineDropped& t) {
  text1 = t.name;
  run(drop_baseline);
  return {};
}

Result<void> Statements::All::operator()(const BaselineWanted& t) {
  text1 = t.name;
  at = t.at.us;
  if (!run(read_baseline)) return {};
  applied->baselines[t.unit] = {{from_sql(campaign)}, {from_sql(unit)}, text2, {not_before}};
  // To its end, as read_spec.
  while (read_baseline.fetch()) {
  }
  return {};
}

Result<void> Statements::All::operator()(const TaskCreated& t) {
  number2 = t.task.step;
  const TaskRow& row = t.task;
  id = to_sql(row.id.value);
  campaign = to_sql(row.campaign.value);
  repository = to_sql(row.repository.value);
  unit = to_sql(row.unit.value);
  text1 = name(row.kind);
  state = name(row.state);
  preferred = to_sql(row.preferred.value);
  number1 = row.priority;
  charged = row.charged;
  interruptions = row.interruptions;
  token = to_sql(row.token.value);
  worker = to_sql(row.worker.value);
  at = row.ready.us;
  not_before = row.not_before.us;
  run(insert_task);
  if (!t.spec.empty()) {
    text1 = t.spec;
    run(insert_spec);
  }
  return {};
}

Result<void> Statements::All::operator()(const TaskLeased& t) {
  id = to_sql(t.id.value);
  token = to_sql(t.token.value);
  worker = to_sql(t.worker.value);
  at = t.at.us;
  if (auto leased = one_row(lease_task, "lease task", t.id.value); !leased) return leased;
  if (!t.has_spec) return {};
  if (!run(read_spec)) return mismatch("task " + t.id.text() + " has no spec in the store");
  applied->specs[t.id] = spec;
  // To its end: a reader that stays open keeps the write-ahead log from starting anew.
  while (read_spec.fetch()) {
  }
  return {};
}

Result<void> Statements::All::operator()(const TaskReturned& t) {
  id = to_sql(t.id.value);
  token = to_sql(t.token.value);
  state = name(t.state);
  charged = t.charged;
  interruptions = t.interruptions;
  not_before = t.not_before.us;
  at = t.at.us;
  how = t.why;
  run(end_attempt);
  run(count_interruptions);
  return one_row(return_task, "return task", t.id.value);
}

Result<void> Statements::All::operator()(const TaskFinished& t) {
  id = to_sql(t.id.value);
  token = to_sql(t.token.value);
  at = t.at.us;
  // The attempt needs no row of its own: what there is to say is in the task's and the result's.
  // The machine has checked the token; this is the last gate, against whoever else writes to this
  // store.
  if (auto finished = one_row(finish_task, "record the result of task", t.id.value); !finished)
    return finished;
  text1 = json_text(*t.result);
  run(insert_result);
  return {};
}

Result<void> Statements::All::operator()(const TaskStateChanged& t) {
  id = to_sql(t.id.value);
  state = name(t.state);
  preferred = to_sql(t.preferred.value);
  at = t.at.us;
  if (t.state != TaskState::blocked && t.state != TaskState::queued) {
    how = state;
    run(end_attempt);
  }
  return one_row(change_task, "change the state of task", t.id.value);
}

Result<void> Statements::All::operator()(const DeadLetterAdded& t) {
  const DeadLetterRow& row = t.letter;
  id = to_sql(row.task.value);
  campaign = to_sql(row.campaign.value);
  repository = to_sql(row.repository.value);
  unit = to_sql(row.unit.value);
  text1 = name(row.kind);
  text2 = name(row.reason);
  text3 = row.message;
  at = row.at.us;
  state = name(row.state);
  run(insert_letter);
  return {};
}

Result<void> Statements::All::operator()(const DeadLetterHandled& t) {
  id = to_sql(t.task.value);
  unit = to_sql(t.unit.value);
  state = name(t.state);
  at = t.at.us;
  run(handle_letter);
  return {};
}

Result<void> Statements::All::operator()(const CampaignReopened& t) {
  id = to_sql(t.id.value);
  return one_row(reopen_campaign, "open again campaign", t.id.value);
}

Result<void> Statements::All::operator()(const UnitReopened& t) {
  id = to_sql(t.id.value);
  run(drop_comparison);
  return one_row(reopen_unit, "open again unit", t.id.value);
}

Result<void> Statements::All::operator()(const UnitRemoved& t) {
  id = to_sql(t.id.value);
  return one_row(remove_unit, "remove unit", t.id.value);
}

Result<void> Statements::All::operator()(const WorkerSeen& t) {
  id = to_sql(t.id.value);
  text1 = t.name;
  text2 = t.key;
  text3 = t.host;
  text4 = t.version;
  at = t.at.us;
  run(see_worker);
  return {};
}

Result<void> Statements::All::operator()(const WorkerControls& t) {
  id = to_sql(t.id.value);
  number1 = t.draining ? 1 : 0;
  not_before = t.drain_by.us;
  state = name(t.quarantine);
  number2 = t.round;
  how = t.why;
  at = t.since.us;
  token = t.probe_at.us;
  run(control_worker);
  return {};
}

Result<void> Statements::All::operator()(EventAppended& t) {
  events.push_back(std::move(t));
  return {};
}

void Statements::All::write_events() {
  for (EventPack& pack : pack_events(std::exchange(events, {}), next_event, applied->events)) {
    id = to_sql(pack.last);
    number1 = to_sql(pack.first);
    campaign = to_sql(pack.campaign.value);
    text1 = std::move(pack.body);
    at = pack.at.us;
    run(insert_events);
  }
}

Result<void> Statements::All::operator()(const SequencesReserved& t) {
  if (t.ids != 0) {
    text1 = "ids";
    number1 = to_sql(t.ids);
    run(reserve);
  }
  if (t.tokens != 0) {
    text1 = "tokens";
    number1 = to_sql(t.tokens);
    run(reserve);
  }
  return {};
}

Statements::Statements(soci::session& session, std::uint64_t next_event, bool clean)
    : all_(std::make_unique<All>(session, next_event, clean)) {}

Statements::~Statements() = default;

Result<void> Statements::apply(std::vector<Transition>& batch, Applied& applied) {
  all_->applied = &applied;
  all_->events.clear();  // of a batch that was rolled back
  for (std::size_t i = 0; i < batch.size(); ++i) {
    // A unit that is judged as it is made is written once.
    auto* created = std::get_if<UnitCreated>(&batch[i]);
    if (created != nullptr && i + 1 < batch.size()) {
      const auto* finished = std::get_if<UnitFinished>(&batch[i + 1]);
      if (finished != nullptr && finished->id == created->unit.id) {
        merge(created->unit, *finished);
        ++i;
      }
      if (auto done = (*all_)(*created); !done) return done;
      continue;
    }
    if (auto done = std::visit(*all_, batch[i]); !done) return done;
  }
  all_->write_events();
  return {};
}

void Statements::rewind_events(std::uint64_t next_event) {
  all_->next_event = next_event;
}
std::uint64_t Statements::next_event() const {
  return all_->next_event;
}

}  // namespace cupel::coordinator::sql
