// The connection for reading, and what belongs to no campaign alone.
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/event_packs.hpp"
#include "coordinator/sql/reader_parts.hpp"
#include "coordinator/sql/store.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

}  // namespace

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
