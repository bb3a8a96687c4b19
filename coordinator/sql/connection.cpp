#include "coordinator/sql/connection.hpp"

namespace cupel::coordinator::sql {

Opening opening_for(const std::optional<Leader>& leader) {
  Opening opening;
  if (leader) {
    opening.epoch = leader->epoch;
    opening.application = leader->application;
  }
  return opening;
}

Result<std::unique_ptr<Connection>> Connection::open(const StoreLocation& location,
                                                     const Opening& opening) {
  if (const auto* file = location.file()) return open_sqlite(*file, opening.access);
  return open_postgres(location, opening);
}

Result<void> Connection::guarded(const std::function<Result<void>()>& work) {
  try {
    return work();
  } catch (const soci::soci_error& error) {
    return error_of(error);
  }
}

Result<void> Connection::in_transaction(const std::function<Result<void>()>& work) {
  auto done = guarded([&]() -> Result<void> {
    if (auto begun = begin(); !begun) return begun;
    auto worked = work();
    if (worked) commit();
    return worked;
  });
  if (done || lost()) return done;
  // After some failures the database has rolled back by itself, and then this one fails: nothing to
  // do about it.
  const auto ignored = guarded([&]() -> Result<void> {
    session_ << "ROLLBACK";
    return {};
  });
  static_cast<void>(ignored);
  return done;
}

std::string Connection::in_dialect(std::string sql) const {
  constexpr std::string_view kMark = "{{id}}";
  const std::string_view id = id_column();
  for (std::size_t at = sql.find(kMark); at != std::string::npos; at = sql.find(kMark, at)) {
    sql.replace(at, kMark.size(), id);
    at += id.size();
  }
  return sql;
}

}  // namespace cupel::coordinator::sql
