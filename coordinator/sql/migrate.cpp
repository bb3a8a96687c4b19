#include "coordinator/sql/migrate.hpp"

#include "common/core/digest.hpp"

#include <charconv>

namespace cupel::coordinator::sql {
namespace {

long long version_of(const Migration& migration) {
  long long version = 0;
  std::from_chars(migration.name.data(), migration.name.data() + migration.name.size(), version);
  return version;
}

Result<void> check_applied(soci::session& session, const std::vector<Migration>& all) {
  long long newest = 0;
  session << "SELECT COALESCE(MAX(version), 0) FROM schema_migrations", soci::into(newest);
  if (newest > version_of(all.back())) {
    return Error{.code = Errc::bad_config,
                 .what = "the store was written by a newer version of Cupel (schema " +
                         std::to_string(newest) + ")",
                 .detail = {},
                 .hint = "upgrade the coordinator, or restore the backup from before the upgrade"};
  }
  for (const Migration& migration : all) {
    const long long version = version_of(migration);
    if (version > newest) break;
    std::string digest;
    session << "SELECT digest FROM schema_migrations WHERE version = :v", soci::use(version),
        soci::into(digest);
    if (!session.got_data() || digest != sha256(migration.text).hex()) {
      return Error{.code = Errc::bad_config,
                   .what = "the store's schema differs from this program's at migration " +
                           std::string(migration.name),
                   .detail = {},
                   .hint = {}};
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> split_statements(std::string_view text) {
  std::vector<std::string> statements;
  std::string current;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("--") || line.empty()) continue;
    const bool last = line.ends_with(';');
    if (last) line.remove_suffix(1);
    current += std::string(line) + "\n";
    if (last) statements.push_back(std::exchange(current, {}));
  }
  return statements;
}

Result<void> migrate(Connection& connection, const std::vector<Migration>& all) {
  soci::session& session = connection.session();
  auto checked = connection.in_transaction([&]() -> Result<void> {
    session << "CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT NOT NULL PRIMARY KEY, "
               "name TEXT NOT NULL, digest TEXT NOT NULL)";
    return check_applied(session, all);
  });
  if (!checked) return checked;
  for (const Migration& migration : all) {
    const long long version = version_of(migration);
    auto applied = connection.in_transaction([&]() -> Result<void> {
      long long known = 0;
      session << "SELECT COUNT(*) FROM schema_migrations WHERE version = :v", soci::use(version),
          soci::into(known);
      if (known > 0) return {};
      for (const std::string& statement : split_statements(migration.text)) {
        session << connection.in_dialect(statement);
      }
      const std::string name(migration.name);
      const std::string digest = sha256(migration.text).hex();
      session << "INSERT INTO schema_migrations (version, name, digest) VALUES (:v, :n, :d)",
          soci::use(version), soci::use(name), soci::use(digest);
      return {};
    });
    if (!applied) return applied;
  }
  return {};
}

}  // namespace cupel::coordinator::sql
