// Tasks with their attempts, and units.
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/reader_parts.hpp"
#include "coordinator/sql/store.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

using soci::into;
using soci::use;

// The spec of a task that has none of its own: TaskCreated says when.
std::string first_acquisition(soci::session& session, const TaskColumns& columns) {
  std::string source;
  std::string subdirs;
  session << "SELECT source, subdirs FROM repositories WHERE id = :id", use(columns.repository),
      into(source), into(subdirs);
  if (!session.got_data() || columns.unit != 0) return {};
  const TaskRow row = columns.row();
  const nlohmann::json spec = {{"id", row.id.text()},
                               {"campaign", row.campaign.text()},
                               {"repository", row.repository.text()},
                               {"unit", ""},
                               {"kind", name(row.kind)},
                               {"work",
                                {{"type", "acquire_source"},
                                 {"source", nlohmann::json::parse(source, nullptr, false)},
                                 {"pinned_commit", ""},
                                 {"subdirs", nlohmann::json::parse(subdirs, nullptr, false)}}}};
  return spec.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The attempt whose result was accepted has no row in `attempts`.
void add_accepted_attempt(soci::session& session, const TaskColumns& columns, TaskView& view) {
  const Number id = columns.id;
  Number token = 0;
  Number ended = 0;
  session << "SELECT token, body, at_us FROM results WHERE task = :id", use(id), into(token),
      into(view.result), into(ended);
  if (!session.got_data()) {
    view.result.clear();
    return;
  }
  const auto same = [&](const TaskView::Attempt& attempt) {
    return attempt.token.value == from_sql(token);
  };
  if (std::ranges::any_of(view.attempts, same)) return;
  const auto result = nlohmann::json::parse(view.result, nullptr, false);
  view.attempts.push_back({{from_sql(token)},
                           {from_sql(columns.worker)},
                           {columns.leased},
                           {ended},
                           result.is_object() ? result.value("outcome", "") : std::string()});
}

}  // namespace

std::string one_text(soci::session& session, const std::string& sql, Number key) {
  std::string text;
  session << sql, use(key), into(text);
  return session.got_data() ? text : std::string();
}

TaskView task_view_of(soci::session& session, const TaskColumns& columns) {
  TaskView view;
  view.task = columns.row();
  view.spec = one_text(session, "SELECT spec FROM specs WHERE task = :id", columns.id);
  if (view.spec.empty()) view.spec = first_acquisition(session, columns);
  Number token = 0, worker = 0, started = 0, ended = 0;
  std::string how;
  const Number id = columns.id;
  soci::statement statement =
      (session.prepare
           << "SELECT token, worker, started_us, ended_us, how FROM attempts WHERE task = :id "
              "ORDER BY token",
       use(id), into(token), into(worker), into(started), into(ended), into(how));
  statement.execute();
  while (statement.fetch()) {
    view.attempts.push_back({{from_sql(token)}, {from_sql(worker)}, {started}, {ended}, how});
  }
  add_accepted_attempt(session, columns, view);
  if (view.task.state == TaskState::leased) {
    view.attempts.push_back({view.task.token, view.task.worker, {columns.leased}, {}, "running"});
  }
  return view;
}

Result<TaskView> SqlReader::task(TaskId id) {
  return inside_->read_snapshot<TaskView>(
      [&](soci::session& session, TaskView& view) -> Result<void> {
        const Number key = to_sql(id.value);
        std::optional<TaskColumns> row;
        select<TaskColumns>(
            session, "tasks WHERE id = :id", [&](const TaskColumns& c) { row = c; }, key);
        if (!row) return not_found("task " + id.text());
        view = task_view_of(session, *row);
        return {};
      });
}

Result<UnitRow> SqlReader::unit(UnitId id) {
  return inside_->read<UnitRow>([&](soci::session& session, UnitRow& unit) -> Result<void> {
    const Number key = to_sql(id.value);
    std::optional<UnitRow> found;
    select<UnitColumns>(
        session, "units WHERE id = :id", [&](const UnitColumns& c) { found = c.row(); }, key);
    if (!found) return not_found("unit " + id.text());
    unit = *std::move(found);
    return {};
  });
}

Result<std::vector<TaskView>> SqlReader::tasks_of(CampaignId campaign, UnitId unit) {
  using List = std::vector<TaskView>;
  return inside_->read_snapshot<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number key = to_sql(unit.value);
    const Number owner = to_sql(campaign.value);
    const Number rows = kRowsMax;
    std::vector<TaskColumns> tasks;
    select<TaskColumns>(
        session, "tasks WHERE unit = :u AND unit <> 0 AND campaign = :c ORDER BY id LIMIT :l",
        [&](const TaskColumns& c) { tasks.push_back(c); }, key, owner, rows);
    for (const TaskColumns& task : tasks) list.push_back(task_view_of(session, task));
    return {};
  });
}

}  // namespace cupel::coordinator::sql
