// Campaigns, and what is in them.
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/reader_parts.hpp"
#include "coordinator/sql/store.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

namespace cupel::coordinator::sql {
namespace {

using soci::into;
using soci::use;

void count_into(soci::session& session, const std::string& sql, Number key,
                const std::function<void(const std::string& word, std::uint64_t count)>& each) {
  std::string group;
  Number count = 0;
  soci::statement statement = (session.prepare << sql, use(key), into(group), into(count));
  statement.execute();
  while (statement.fetch()) each(group, from_sql(count));
}

CampaignSummary summary_of(soci::session& session, const CampaignColumns& columns) {
  CampaignSummary summary;
  summary.campaign = columns.row();
  summary.interruptions = from_sql(columns.interruptions);
  const Number id = columns.id;
  count_into(session, "SELECT verdict, COUNT(*) FROM units WHERE campaign = :id GROUP BY verdict",
             id, [&](const std::string& group, std::uint64_t count) {
               summary.units += count;
               if (const auto verdict = parse_name<Verdict>(group)) {
                 summary.verdicts[*verdict] += count;
               } else {
                 summary.units_open += count;
               }
             });
  count_into(session, "SELECT state, COUNT(*) FROM tasks WHERE campaign = :id GROUP BY state", id,
             [&](const std::string& group, std::uint64_t count) {
               if (const auto state = parse_task_state(group)) summary.tasks[*state] += count;
             });
  Number repositories = 0;
  Number without_pin = 0;
  Number judged = 0;  // of those: a unit stands for what could not be had
  session << "SELECT COUNT(*) FROM repositories WHERE campaign = :id", use(id), into(repositories);
  session << "SELECT COUNT(*) FROM repositories WHERE campaign = :id AND pin = ''", use(id),
      into(without_pin);
  session << "SELECT COUNT(DISTINCT u.repository) FROM units u JOIN repositories r ON r.id = "
             "u.repository WHERE u.campaign = :id AND r.pin = ''",
      use(id), into(judged);
  summary.repositories = from_sql(repositories);
  summary.repositories_open = from_sql(without_pin - judged);
  return summary;
}

}  // namespace

Result<std::vector<CampaignSummary>> SqlReader::campaigns(Page page,
                                                          std::optional<CampaignState> state) {
  using List = std::vector<CampaignSummary>;
  const Result<Number> start = page_start<CampaignId>(page);
  if (!start) return start.error();
  Number before = *start;
  return inside_->read_snapshot<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number limit = std::min(page.limit, kRowsMax);
    std::vector<CampaignColumns> rows;
    const auto keep = [&](const CampaignColumns& c) { rows.push_back(c); };
    if (state) {
      const std::string word(name(*state));
      select<CampaignColumns>(session,
                              "campaigns WHERE state = :s AND id < :b ORDER BY id DESC LIMIT :l",
                              keep, word, before, limit);
    } else {
      select<CampaignColumns>(session, "campaigns WHERE id < :b ORDER BY id DESC LIMIT :l", keep,
                              before, limit);
    }
    for (const CampaignColumns& row : rows) list.push_back(summary_of(session, row));
    return {};
  });
}

Result<CampaignSummary> SqlReader::campaign(CampaignId id) {
  return inside_->read_snapshot<CampaignSummary>(
      [&](soci::session& session, CampaignSummary& out) -> Result<void> {
        const Number key = to_sql(id.value);
        std::optional<CampaignColumns> row;
        select<CampaignColumns>(
            session, "campaigns WHERE id = :id", [&](const CampaignColumns& c) { row = c; }, key);
        if (!row) return not_found("campaign " + id.text());
        out = summary_of(session, *row);
        return {};
      });
}

Result<std::optional<CampaignId>> SqlReader::find_idempotent(const std::string& owner,
                                                             const std::string& key) {
  using Found = std::optional<CampaignId>;
  return inside_->read<Found>([&](soci::session& session, Found& found) -> Result<void> {
    Number id = 0;
    const std::string of = inside_->comparable(owner);
    const std::string word = inside_->comparable(key);
    session << "SELECT id FROM campaigns WHERE owner = :o AND idempotency_key = :k AND "
               "idempotency_key <> ''",
        use(of), use(word), into(id);
    if (session.got_data()) found = CampaignId{from_sql(id)};
    return {};
  });
}

Result<std::vector<UnitResult>> SqlReader::results(CampaignId id, UnitId after, std::uint32_t limit,
                                                   std::optional<Verdict> verdict) {
  using List = std::vector<UnitResult>;
  return inside_->read_snapshot<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number campaign = to_sql(id.value);
    const Number from = to_sql(after.value);
    const Number rows = std::min(limit, kRowsMax);
    const auto keep = [&](const UnitColumns& c) { list.push_back({c.row(), {}, {}, {}, {}}); };
    if (verdict) {
      const std::string word(name(*verdict));
      select<UnitColumns>(
          session, "units WHERE campaign = :c AND verdict = :v AND id > :a ORDER BY id LIMIT :l",
          keep, campaign, word, from, rows);
    } else {
      select<UnitColumns>(session, "units WHERE campaign = :c AND id > :a ORDER BY id LIMIT :l",
                          keep, campaign, from, rows);
    }
    for (UnitResult& result : list) {
      const Number repository = to_sql(result.unit.repository.value);
      select<RepositoryColumns>(
          session, "repositories WHERE id = :id",
          [&](const RepositoryColumns& c) { result.repository = c.row(); }, repository);
      result.result = one_text(session, "SELECT body FROM results WHERE task = :id",
                               to_sql(result.unit.deciding_task.value));
      result.acquire = one_text(
          session,
          "SELECT r.body FROM tasks t JOIN results r ON r.task = t.id WHERE t.unit = :u AND "
          "t.unit <> 0 AND t.kind = 'acquire' ORDER BY t.id DESC LIMIT 1",
          to_sql(result.unit.id.value));
      result.comparison = one_text(session, "SELECT body FROM comparisons WHERE unit = :id",
                                   to_sql(result.unit.id.value));
    }
    return {};
  });
}

Result<std::vector<RepositoryRow>> SqlReader::repositories(CampaignId id) {
  using List = std::vector<RepositoryRow>;
  return inside_->read<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number key = to_sql(id.value);
    select<RepositoryColumns>(
        session, "repositories WHERE campaign = :c ORDER BY id",
        [&](const RepositoryColumns& c) { list.push_back(c.row()); }, key);
    return {};
  });
}

}  // namespace cupel::coordinator::sql
