/// What the reader's files share. Private to coordinator/sql.
#pragma once

#include "common/core/utf8.hpp"
#include "coordinator/sql/columns.hpp"
#include "coordinator/sql/store.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
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

/// The one text that `sql` selects by `key`; empty where there is none.
[[nodiscard]] std::string one_text(soci::session& session, const std::string& sql, Number key);
/// A task with its spec, its attempts and its result.
[[nodiscard]] TaskView task_view_of(soci::session& session, const TaskColumns& columns);

struct SqlReader::Inside {
  explicit Inside(StoreLocation where) : location(std::move(where)) {}

  StoreLocation location;
  std::mutex mutex;  ///< Of `connection`, against cut().
  std::unique_ptr<Connection> connection;

  /// Connects if there is no connection.
  Result<void> connect();
  /// A text that a statement compares with.
  [[nodiscard]] std::string comparable(const std::string& text) const {
    return connection->wants_clean_text() ? clean_text(text) : text;
  }

  template <typename T, typename Work>
  Result<T> read(Work work) {
    for (bool again = false;; again = true) {
      if (auto there = connect(); !there) return there.error();
      T value{};
      const auto done =
          connection->guarded([&]() -> Result<void> { return work(connection->session(), value); });
      if (done) return value;
      if (!connection->lost()) return done.error();
      drop();
      // A server that was restarted has ended every connection: the next one may be good.
      if (again) return done.error();
    }
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

 private:
  void drop();
};

}  // namespace cupel::coordinator::sql
