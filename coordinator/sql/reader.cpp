#include "common/core/json.hpp"
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/event_packs.hpp"
#include "coordinator/sql/reader_parts.hpp"
#include "coordinator/sql/store.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

using soci::into;
using soci::use;

/// Every run of 64 hex digits: whatever of a result may name an artifact.
void collect_digests(std::string_view text, std::set<Digest>& found) {
  constexpr std::size_t kHex = 64;
  std::size_t run = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool hex = i < text.size() &&
                     std::string_view("0123456789abcdef").find(text[i]) != std::string_view::npos;
    if (!hex && run == kHex) {
      if (const auto digest = Digest::parse(text.substr(i - kHex, kHex))) found.insert(*digest);
    }
    run = hex ? run + 1 : 0;
  }
}

std::string one_text(soci::session& session, const std::string& sql, Number key) {
  std::string text;
  session << sql, use(key), into(text);
  return session.got_data() ? text : std::string();
}

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
  Number open = 0;
  session << "SELECT COUNT(*) FROM repositories WHERE campaign = :id", use(id), into(repositories);
  session
      << "SELECT COUNT(*) FROM repositories r WHERE r.campaign = :id AND r.pin = '' AND NOT EXISTS "
         "(SELECT 1 FROM units u WHERE u.repository = r.id)",
      use(id), into(open);
  summary.repositories = from_sql(repositories);
  summary.repositories_open = from_sql(open);
  return summary;
}

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

SqlReader::SqlReader(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
SqlReader::~SqlReader() = default;

Result<std::unique_ptr<SqlReader>> SqlReader::open(const StoreLocation& location) {
  return std::unique_ptr<SqlReader>(new SqlReader(std::make_unique<Inside>(location)));
}

void SqlReader::cut() {
  const std::lock_guard lock(inside_->mutex);
  if (inside_->connection) inside_->connection->cut();
}

Result<void> SqlReader::Inside::connect() {
  if (connection) return {};
  auto made = Connection::open(location, {.access = Access::read_only});
  if (!made) return made.error();
  const std::lock_guard lock(mutex);
  connection = std::move(*made);
  return {};
}

void SqlReader::Inside::drop() {
  const std::lock_guard lock(mutex);
  connection.reset();
}

namespace {

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

Result<std::vector<FlakeRow>> SqlReader::flakes(const std::string& repository, Page page) {
  using List = std::vector<FlakeRow>;
  Number before = INT64_MAX;
  std::string after_name;
  if (!page.token.empty()) {
    const char* const last = page.token.data() + page.token.size();
    const auto [end, ec] = std::from_chars(page.token.data(), last, before);
    const bool ours = ec == std::errc() && end != last && *end == '-';
    if (ours) after_name.assign(end + 1, last);
    if (!ours || after_name.empty()) return foreign_token();
  }
  return inside_->read<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number limit = std::min(page.limit, kRowsMax);
    const std::string from_name = inside_->comparable(after_name);
    FlakeRow row;
    Number hits = 0, runs = 0, times = 0, campaign = 0, first = 0, last = 0;
    soci::statement statement(session);
    const std::string of = inside_->comparable(repository);
    if (!of.empty()) statement.exchange(use(of));
    statement.exchange(use(before));
    statement.exchange(use(before));
    statement.exchange(use(from_name));
    statement.exchange(use(limit));
    for (std::string* text : {&row.name, &row.repository, &row.module, &row.key, &row.signature}) {
      statement.exchange(into(*text));
    }
    for (Number* number : {&hits, &runs, &times, &campaign, &first, &last}) {
      statement.exchange(into(*number));
    }
    statement.alloc();
    statement.prepare(
        "SELECT name, repository, module, finding, signature, hits, runs, times, campaign, "
        "first_us, "
        "last_us FROM flakes WHERE " +
        std::string(of.empty() ? "" : "repository = :r AND ") +
        "(last_us < :b OR (last_us = :s AND name > :n)) ORDER BY last_us DESC, name LIMIT :l");
    statement.define_and_bind();
    statement.execute();
    while (statement.fetch()) {
      row.hits = from_sql(hits);
      row.runs = from_sql(runs);
      row.times = from_sql(times);
      row.campaign = {from_sql(campaign)};
      row.first = {first};
      row.last = {last};
      list.push_back(row);
    }
    return {};
  });
}

Result<std::vector<EventRow>> SqlReader::events_after(std::uint64_t seq,
                                                      std::optional<CampaignId> campaign,
                                                      std::uint32_t limit) {
  using List = std::vector<EventRow>;
  return inside_->read<List>([&](soci::session& session, List& list) -> Result<void> {
    const Number after = to_sql(seq);
    const std::size_t wanted = std::min<std::size_t>(limit, kRowsMax);
    const auto rows = static_cast<Number>(wanted);  // a row has at least one event
    const Number owner = campaign ? to_sql(campaign->value) : 0;
    Number first = 0, last = 0, from = 0, at = 0;
    EventPack pack;
    const std::string where = campaign ? " AND campaign = :c" : "";
    soci::statement statement(session);
    statement.exchange(use(after));
    if (campaign) statement.exchange(use(owner));
    statement.exchange(use(rows));
    statement.exchange(into(last));
    statement.exchange(into(first));
    statement.exchange(into(from));
    statement.exchange(into(pack.body));
    statement.exchange(into(at));
    statement.alloc();
    statement.prepare("SELECT last, first, campaign, body, at_us FROM event_packs WHERE last > :a" +
                      where + " ORDER BY last LIMIT :l");
    statement.define_and_bind();
    statement.execute();
    while (list.size() < wanted && statement.fetch()) {
      pack.first = from_sql(first);
      pack.last = from_sql(last);
      pack.campaign = {from_sql(from)};
      pack.at = {at};
      if (auto unpacked = unpack_events(pack, seq, list); !unpacked) return unpacked;
    }
    if (list.size() > wanted) list.resize(wanted);
    return {};
  });
}

Result<std::uint64_t> SqlReader::last_event() {
  return inside_->read<std::uint64_t>(
      [](soci::session& session, std::uint64_t& last) -> Result<void> {
        Number seq = 0;
        session << "SELECT COALESCE(MAX(last), 0) FROM event_packs", into(seq);
        last = from_sql(seq);
        return {};
      });
}

Result<ArtifactsNeeded> SqlReader::artifacts_needed() {
  return inside_->read<ArtifactsNeeded>(
      [](soci::session& session, ArtifactsNeeded& needed) -> Result<void> {
        Number since = 0;
        session << "SELECT COALESCE(MIN(created_us), 0) FROM campaigns "
                   "WHERE state NOT IN ('finished', 'cancelled')",
            into(since);
        if (since != 0) needed.open_since = WallTime{since};
        std::string body;
        soci::statement tools =
            (session.prepare << "SELECT r.body FROM results r JOIN tasks t ON t.id = r.task "
                                "WHERE t.kind = 'tool'",
             into(body));
        tools.execute();
        while (tools.fetch()) collect_digests(body, needed.always);
        return {};
      });
}

}  // namespace cupel::coordinator::sql
