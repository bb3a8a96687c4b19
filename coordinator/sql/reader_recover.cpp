// What a machine needs back at its start.
#include "common/core/json.hpp"
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/reader_parts.hpp"
#include "coordinator/sql/store.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

using soci::into;
using soci::use;

/// Of each image what its last round agreed on: the builds of one campaign are one round.
std::vector<ToolFacts> built_tools(soci::session& session) {
  struct Round {
    Number campaign = 0;
    std::optional<ToolFacts> tool;
  };
  std::map<std::string, Round> latest;
  Number campaign = 0;
  std::string body;
  soci::statement built =
      (session.prepare << "SELECT t.campaign, r.body FROM tasks t JOIN results r ON r.task = t.id "
                          "WHERE t.kind = 'tool' AND t.state = 'done' ORDER BY t.id",
       into(campaign), into(body));
  built.execute();
  while (built.fetch()) {
    const auto json = nlohmann::json::parse(body, nullptr, false);
    auto result = json.is_object() ? result_from_json(json) : Result<TaskResult>(not_found("tool"));
    if (!result || result->outcome != Outcome::passing || !result->tool) continue;
    Round& round = latest[result->tool->image];
    if (round.campaign != campaign) {
      round = {campaign, std::move(result->tool)};
    } else if (round.tool && round.tool->binary != result->tool->binary) {
      round.tool.reset();
    }
  }
  std::vector<ToolFacts> tools;
  for (auto& [image, round] : latest) {
    if (round.tool) tools.push_back(*std::move(round.tool));
  }
  return tools;
}

void read_workers(soci::session& session, Recovered& all) {
  Number id = 0, draining = 0, seen = 0, drain_by = 0, round = 0, since = 0, probe_at = 0;
  std::string name, key, host, version, quarantine, why;
  soci::statement workers =
      (session.prepare << "SELECT id, name, public_key, host, version, last_seen_us, draining, "
                          "drain_by_us, quarantine, quarantine_round, quarantine_why, "
                          "quarantine_since_us, probe_at_us FROM workers ORDER BY id",
       into(id), into(name), into(key), into(host), into(version), into(seen), into(draining),
       into(drain_by), into(quarantine), into(round), into(why), into(since), into(probe_at));
  workers.execute();
  while (workers.fetch()) {
    all.workers.push_back({{from_sql(id)}, name, key, host, version, {seen}});
    const Quarantine kind = parse_quarantine(quarantine).value_or(Quarantine::by_operator);
    if (draining == 0 && kind == Quarantine::none) continue;
    all.controls.push_back({.id = {from_sql(id)},
                            .draining = draining != 0,
                            .drain_by = {drain_by},
                            .quarantine = kind,
                            .round = static_cast<std::uint32_t>(round),
                            .why = why,
                            .since = {since},
                            .probe_at = {probe_at}});
  }
}

}  // namespace

Result<Recovered> SqlReader::recover() {
  return inside_->read_snapshot<Recovered>([](soci::session& session,
                                              Recovered& all) -> Result<void> {
    std::string fleet;
    session << "SELECT value FROM facts WHERE name = 'fleet'", into(fleet);
    if (!session.got_data()) return not_found("the fleet's id");
    all.fleet = {std::stoull(fleet)};
    Number ids = 0;
    Number tokens = 0;
    session << "SELECT value FROM sequences WHERE name = 'ids'", into(ids);
    session << "SELECT value FROM sequences WHERE name = 'tokens'", into(tokens);
    all.sequences = {from_sql(ids), from_sql(tokens)};
    const std::string open = "(SELECT id FROM campaigns WHERE state IN ('running', 'paused'))";
    select<CampaignColumns>(session, "campaigns WHERE state IN ('running', 'paused') ORDER BY id",
                            [&](const CampaignColumns& c) { all.campaigns.push_back(c.row()); });
    select<RepositoryColumns>(
        session, "repositories WHERE campaign IN " + open + " ORDER BY id",
        [&](const RepositoryColumns& c) { all.repositories.push_back(c.row()); });
    select<UnitColumns>(session, "units WHERE campaign IN " + open + " ORDER BY id",
                        [&](const UnitColumns& c) { all.units.push_back(c.row()); });
    select<TaskColumns>(session,
                        "tasks WHERE campaign IN " + open +
                            " AND state IN ('blocked', 'queued', 'leased') ORDER BY id",
                        [&](const TaskColumns& c) { all.tasks.push_back(c.row()); });
    Number unit = 0, campaign = 0;
    std::string body;
    soci::statement known =
        (session.prepare << "SELECT unit, campaign, body FROM progress WHERE campaign IN " + open +
                                " ORDER BY unit",
         into(unit), into(campaign), into(body));
    known.execute();
    while (known.fetch()) {
      all.progress.push_back({{from_sql(unit)}, {from_sql(campaign)}, body});
    }
    all.tools = built_tools(session);
    read_workers(session, all);
    return {};
  });
}

}  // namespace cupel::coordinator::sql
