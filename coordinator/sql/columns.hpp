/// The columns of the tables that are read whole: each struct binds them to a statement and gives a
/// row.
#pragma once

#include "coordinator/ports/store.hpp"
#include "coordinator/sql/connection.hpp"

#include <string>

namespace cupel::coordinator::sql {

using Number = long long;

struct CampaignColumns {
  static constexpr const char* kNames =
      "id, owner, name, priority, state, document, digest, idempotency_key, interruptions, "
      "created_us, finished_us";
  Number id = 0, priority = 0, interruptions = 0, created = 0, finished = 0;
  std::string owner, name, state, document, digest, key;

  void bind(soci::statement& s);
  [[nodiscard]] CampaignRow row() const;
};

struct RepositoryColumns {
  static constexpr const char* kNames =
      "id, campaign, ordinal, name, source, subdirs, pin, tree, holder, committed_us";
  Number id = 0, campaign = 0, ordinal = 0, holder = 0, committed = 0;
  std::string name, source, subdirs, pin, tree;

  void bind(soci::statement& s);
  [[nodiscard]] RepositoryRow row() const;
};

struct UnitColumns {
  static constexpr const char* kNames =
      "id, campaign, repository, info, verdict, reason, fault, message, deciding_task, finished_us";
  Number id = 0, campaign = 0, repository = 0, task = 0, finished = 0;
  std::string info, verdict, reason, fault, message;

  void bind(soci::statement& s);
  [[nodiscard]] UnitRow row() const;
};

struct TaskColumns {
  static constexpr const char* kNames =
      "id, campaign, repository, unit, kind, state, preferred, priority, charged, interruptions, "
      "token, worker, "
      "ready_us, not_before_us, leased_us, step";
  Number id = 0, campaign = 0, repository = 0, unit = 0, preferred = 0, priority = 0, charged = 0,
         interruptions = 0, token = 0, worker = 0, ready = 0, not_before = 0, leased = 0, step = 0;
  std::string kind, state;

  void bind(soci::statement& s);
  [[nodiscard]] TaskRow row() const;
};

struct DeadLetterColumns {
  static constexpr const char* kNames =
      "task, campaign, repository, unit, kind, reason, message, at_us, state, handled_us";
  Number task = 0, campaign = 0, repository = 0, unit = 0, at = 0, handled = 0;
  std::string kind, reason, message, state;

  void bind(soci::statement& s);
  [[nodiscard]] DeadLetterRow row() const;
};

/// Runs "SELECT names FROM rest" and calls `each` for every row.
template <typename Columns, typename... Binds, typename Each>
void select(soci::session& session, const std::string& rest, Each each, Binds&... binds) {
  Columns columns;
  soci::statement statement(session);
  (statement.exchange(soci::use(binds)), ...);
  columns.bind(statement);
  statement.alloc();
  statement.prepare(std::string("SELECT ") + Columns::kNames + " FROM " + rest);
  statement.define_and_bind();
  statement.execute();
  while (statement.fetch()) each(columns);
}

}  // namespace cupel::coordinator::sql
