// Dead letters with their evidence.
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/reader_parts.hpp"
#include "coordinator/sql/store.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

DeadLetterView whole_letter(soci::session& session, const DeadLetterColumns& columns) {
  DeadLetterView view;
  view.letter = columns.row();
  Number repository = columns.repository;
  Number unit = columns.unit;
  Number task = columns.task;
  select<RepositoryColumns>(
      session, "repositories WHERE id = :id",
      [&](const RepositoryColumns& c) { view.repository = c.row(); }, repository);
  const auto keep = [&](const UnitColumns& c) { view.units.push_back(c.row()); };
  if (unit != 0) {
    select<UnitColumns>(session, "units WHERE id = :id", keep, unit);
  } else {
    // What a dead letter decides is inconclusive; its index says so, too.
    select<UnitColumns>(session,
                        "units WHERE repository = :r AND verdict = 'inconclusive' AND "
                        "deciding_task = :t ORDER BY id",
                        keep, repository, task);
  }
  select<TaskColumns>(
      session, "tasks WHERE id = :id",
      [&](const TaskColumns& c) { view.task = task_view_of(session, c); }, task);
  return view;
}

}  // namespace

Result<std::vector<DeadLetterView>> SqlReader::dead_letters(std::optional<CampaignId> campaign,
                                                            std::optional<DeadLetterState> state,
                                                            Page page) {
  using List = std::vector<DeadLetterView>;
  const Result<Number> start = page_start<TaskId>(page);
  if (!start) return start.error();
  Number before = *start;
  return inside_->read_snapshot<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number limit = std::min(page.limit, kRowsMax);
    const Number of = campaign ? to_sql(campaign->value) : 0;
    const std::string word(state ? name(*state) : std::string_view());
    std::vector<DeadLetterColumns> rows;
    const auto keep = [&](const DeadLetterColumns& c) { rows.push_back(c); };
    select<DeadLetterColumns>(
        session,
        "dead_letters WHERE (:s = '' OR state = :s2) AND (CAST(:c AS "
        "BIGINT) = 0 OR campaign = :c2) AND task < :b ORDER BY task DESC LIMIT :l",
        keep, word, word, of, of, before, limit);
    for (const DeadLetterColumns& row : rows) list.push_back(whole_letter(session, row));
    return {};
  });
}

Result<DeadLetterView> SqlReader::dead_letter(TaskId task) {
  return inside_->read_snapshot<DeadLetterView>(
      [&](soci::session& session, DeadLetterView& view) -> Result<void> {
        const Number key = to_sql(task.value);
        std::optional<DeadLetterColumns> row;
        select<DeadLetterColumns>(
            session, "dead_letters WHERE task = :id", [&](const DeadLetterColumns& c) { row = c; },
            key);
        if (!row) return not_found("dead letter " + task.text());
        view = whole_letter(session, *row);
        return {};
      });
}

}  // namespace cupel::coordinator::sql
