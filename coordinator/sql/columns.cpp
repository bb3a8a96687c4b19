#include "coordinator/sql/columns.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace cupel::coordinator::sql {
namespace {

using soci::into;

template <typename Enum>
Enum word(const std::string& text) {
  // Only our own names are ever written; a word of a newer program falls back to the first of the
  // list.
  return parse_name<Enum>(text).value_or(static_cast<Enum>(0));
}

std::vector<std::string> string_list(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  std::vector<std::string> list;
  if (!parsed.is_array()) return list;
  for (const auto& item : parsed) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

}  // namespace

void CampaignColumns::bind(soci::statement& s) {
  s.exchange(into(id));
  s.exchange(into(owner));
  s.exchange(into(name));
  s.exchange(into(priority));
  s.exchange(into(state));
  s.exchange(into(document));
  s.exchange(into(digest));
  s.exchange(into(key));
  s.exchange(into(interruptions));
  s.exchange(into(created));
  s.exchange(into(finished));
}

CampaignRow CampaignColumns::row() const {
  return {.id = {from_sql(id)},
          .owner = owner,
          .name = name,
          .priority = static_cast<std::int32_t>(priority),
          .state = parse_campaign_state(state).value_or(CampaignState::running),
          .document = document,
          .digest = digest,
          .idempotency_key = key,
          .created = {created},
          .finished = {finished}};
}

void RepositoryColumns::bind(soci::statement& s) {
  s.exchange(into(id));
  s.exchange(into(campaign));
  s.exchange(into(ordinal));
  s.exchange(into(name));
  s.exchange(into(source));
  s.exchange(into(subdirs));
  s.exchange(into(pin));
  s.exchange(into(tree));
  s.exchange(into(holder));
  s.exchange(into(committed));
}

RepositoryRow RepositoryColumns::row() const {
  return {.id = {from_sql(id)},
          .campaign = {from_sql(campaign)},
          .ordinal = static_cast<std::uint32_t>(ordinal),
          .name = name,
          .source = source,
          .subdirs = string_list(subdirs),
          .commit = pin,
          .tree = tree,
          .holder = {from_sql(holder)},
          .committed = {committed}};
}

void UnitColumns::bind(soci::statement& s) {
  s.exchange(into(id));
  s.exchange(into(campaign));
  s.exchange(into(repository));
  s.exchange(into(info));
  s.exchange(into(verdict));
  s.exchange(into(reason));
  s.exchange(into(fault));
  s.exchange(into(message));
  s.exchange(into(task));
  s.exchange(into(finished));
}

UnitRow UnitColumns::row() const {
  return {.id = {from_sql(id)},
          .campaign = {from_sql(campaign)},
          .repository = {from_sql(repository)},
          .info = info,
          .verdict = parse_name<Verdict>(verdict),
          .reason = word<Reason>(reason),
          .fault = word<Fault>(fault),
          .message = message,
          .deciding_task = {from_sql(task)},
          .finished = {finished}};
}

void TaskColumns::bind(soci::statement& s) {
  s.exchange(into(id));
  s.exchange(into(campaign));
  s.exchange(into(repository));
  s.exchange(into(unit));
  s.exchange(into(kind));
  s.exchange(into(state));
  s.exchange(into(preferred));
  s.exchange(into(priority));
  s.exchange(into(charged));
  s.exchange(into(interruptions));
  s.exchange(into(token));
  s.exchange(into(worker));
  s.exchange(into(ready));
  s.exchange(into(not_before));
  s.exchange(into(leased));
  s.exchange(into(step));
}

TaskRow TaskColumns::row() const {
  return {.id = {from_sql(id)},
          .campaign = {from_sql(campaign)},
          .repository = {from_sql(repository)},
          .unit = {from_sql(unit)},
          .kind = word<TaskKind>(kind),
          .state = parse_task_state(state).value_or(TaskState::queued),
          .preferred = {from_sql(preferred)},
          .priority = static_cast<std::int32_t>(priority),
          .charged = static_cast<std::uint16_t>(charged),
          .interruptions = static_cast<std::uint16_t>(interruptions),
          .token = {from_sql(token)},
          .worker = {from_sql(worker)},
          .ready = {ready},
          .not_before = {not_before},
          .step = static_cast<std::uint32_t>(step)};
}

void DeadLetterColumns::bind(soci::statement& s) {
  s.exchange(into(task));
  s.exchange(into(campaign));
  s.exchange(into(repository));
  s.exchange(into(unit));
  s.exchange(into(kind));
  s.exchange(into(reason));
  s.exchange(into(message));
  s.exchange(into(at));
  s.exchange(into(state));
  s.exchange(into(handled));
}

DeadLetterRow DeadLetterColumns::row() const {
  return {.task = {from_sql(task)},
          .campaign = {from_sql(campaign)},
          .repository = {from_sql(repository)},
          .unit = {from_sql(unit)},
          .kind = word<TaskKind>(kind),
          .reason = word<Reason>(reason),
          .message = message,
          .at = {at},
          .state = parse_dead_letter_state(state).value_or(DeadLetterState::open),
          .handled = {handled}};
}

}  // namespace cupel::coordinator::sql
