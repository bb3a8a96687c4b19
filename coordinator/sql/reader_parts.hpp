/// What the reader's files share. Private to coordinator/sql.
#pragma once

#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/store.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cupel::coordinator::sql {

inline constexpr std::uint32_t kRowsMax =
    10'000;  // of one answer; recover() alone reads everything

[[nodiscard]] inline Error not_found(const std::string& what) {
  return {.code = Errc::not_found, .what = what + " is not known here", .detail = {}, .hint = {}};
}

[[nodiscard]] inline Error foreign_token() {
  return {.code = Errc::bad_value,
          .what = "the page token is not one of ours",
          .detail = {},
          .hint = {}};
}

/// Pages go down from the newest: below which id this one begins. Errors: bad_value.
template <typename Id>
[[nodiscard]] Result<Number> page_start(const Page& page) {
  if (page.token.empty()) return Number{INT64_MAX};
  const auto id = Id::parse(page.token);
  if (!id) return foreign_token();
  return to_sql(id->value);
}

/// A task with its spec, its attempts and its result.
[[nodiscard]] TaskView task_view_of(soci::session& session, const TaskColumns& columns);

struct SqlReader::Inside {
  std::unique_ptr<Connection> connection;

  template <typename T, typename Work>
  Result<T> read(Work work) {
    T value{};
    const auto done =
        connection->guarded([&]() -> Result<void> { return work(connection->session(), value); });
    if (!done) return done.error();
    return value;
  }
  /// Several statements that must see one state of the store.
  template <typename T, typename Work>
  Result<T> read_snapshot(Work work) {
    return read<T>([&](soci::session& session, T& value) -> Result<void> {
      soci::transaction snapshot(session);
      auto done = work(session, value);
      snapshot.commit();
      return done;
    });
  }
};

}  // namespace cupel::coordinator::sql
