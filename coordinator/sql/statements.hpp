/// One prepared statement for each kind of transition. Internal to coordinator/sql; runs inside a
/// transaction.
#pragma once

#include "common/core/error.hpp"
#include "coordinator/ports/store.hpp"
#include "coordinator/sql/connection.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cupel::coordinator::sql {

class Statements {
 public:
  /// `next_event`: the number that the next event gets. `clean`: texts go through clean_text().
  Statements(soci::session& session, std::uint64_t next_event, bool clean);
  ~Statements();
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  /// Errors: store_failed, when a transition doesn't fit the row (a token that isn't the live one):
  /// the caller rolls back. Database exceptions pass through. The batch's texts may be moved away.
  [[nodiscard]] Result<void> apply(std::vector<Transition>& batch, Applied& applied);
  /// After a rollback.
  void rewind_events(std::uint64_t next_event);
  [[nodiscard]] std::uint64_t next_event() const;

 private:
  struct All;
  std::unique_ptr<All> all_;
};

}  // namespace cupel::coordinator::sql
