#include "coordinator/sql/location.hpp"

#include <libpq-fe.h>
#include <memory>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

Error bad(std::string what, std::string detail = {}, std::string hint = {}) {
  return {.code = Errc::bad_config,
          .what = std::move(what),
          .detail = std::move(detail),
          .hint = std::move(hint)};
}

std::string value_of(const PostgresLocation& database, const std::string& key,
                     const std::string& otherwise) {
  const auto found = database.parameters.find(key);
  return found == database.parameters.end() ? otherwise : found->second;
}

Result<PostgresLocation> parse_url(const std::string& url) {
  char* complaint = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), &complaint), PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> text(complaint, PQfreemem);
  if (!options) {
    // libpq repeats the URL in its complaint, and so possibly a password: it isn't shown.
    return bad("setting store is no valid PostgreSQL URL", {},
               "postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full");
  }
  PostgresLocation database;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    if (std::string_view(option->keyword) == "password") {
      return bad("setting store must not hold a password: others could read it", {},
                 "put it into a file of mode 0600 and name that as store_password_file");
    }
    database.parameters[option->keyword] = option->val;
  }
  return database;
}

}  // namespace

std::string StoreLocation::name() const {
  if (const auto* path = file()) return path->string();
  const PostgresLocation& database = *postgres();
  return "postgresql://" + value_of(database, "host", value_of(database, "hostaddr", "localhost")) +
         "/" + value_of(database, "dbname", value_of(database, "user", ""));
}

Result<StoreLocation> parse_store_location(std::string_view text,
                                           const std::filesystem::path& own_file,
                                           std::string password) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (text.starts_with("postgresql://") || text.starts_with("postgres://")) {
    auto database = parse_url(std::string(text));
    if (!database) return database.error();
    database->password = std::move(password);
    return StoreLocation(*std::move(database));
  }
  if (!text.empty() && !text.starts_with(kSqlite)) {
    return bad("setting store is neither sqlite:PATH nor a postgresql:// URL");
  }
  if (!password.empty()) return bad("setting store_password_file is for a postgresql:// store");
  if (!text.empty()) text.remove_prefix(kSqlite.size());
  return StoreLocation(text.empty() ? own_file : std::filesystem::path(text));
}

}  // namespace cupel::coordinator::sql
