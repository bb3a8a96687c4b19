/// Private to the store: every statement with the variables that it is bound to.
#pragma once

#include "coordinator/sql/event_packs.hpp"
#include "coordinator/sql/statements.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::coordinator::sql {

using Number = long long;

// The bound variables of all statements: prepared once, filled before each execution. Names are
// shared where the meaning is.
struct Statements::All {
  All(soci::session& s, std::uint64_t next, bool clean_texts);

  Result<void> operator()(const CampaignCreated& t);
  Result<void> operator()(const CampaignChanged& t);
  Result<void> operator()(const RepositoryCreated& t);
  Result<void> operator()(const RepositoryPinned& t);
  Result<void> operator()(const RepositoryHolder& t);
  Result<void> operator()(const UnitCreated& t);
  Result<void> operator()(const UnitFinished& t);
  Result<void> operator()(const UnitProgressed& t);
  Result<void> operator()(const UnitCompared& t);
  Result<void> operator()(const FlakeSeen& t);
  Result<void> operator()(const BaselineKept& t);
  Result<void> operator()(const BaselineDropped& t);
  Result<void> operator()(const BaselineWanted& t);
  Result<void> operator()(const TaskCreated& t);
  Result<void> operator()(const TaskLeased& t);
  Result<void> operator()(const TaskReturned& t);
  Result<void> operator()(const TaskFinished& t);
  Result<void> operator()(const TaskStateChanged& t);
  Result<void> operator()(const DeadLetterAdded& t);
  Result<void> operator()(const DeadLetterHandled& t);
  Result<void> operator()(const CampaignReopened& t);
  Result<void> operator()(const UnitReopened& t);
  Result<void> operator()(const UnitRemoved& t);
  Result<void> operator()(const WorkerSeen& t);
  Result<void> operator()(const WorkerControls& t);
  Result<void> operator()(EventAppended& t);
  Result<void> operator()(const SequencesReserved& t);

  /// Executes it once; true: there is a row to read.
  bool run(soci::statement& statement);
  Result<void> one_row(soci::statement& statement, std::string_view what, std::uint64_t of);

  void write_events();

  std::uint64_t next_event;
  bool clean;
  Applied* applied = nullptr;
  std::vector<EventAppended> events;  ///< Of the batch under way.

  Number id = 0, campaign = 0, repository = 0, unit = 0, task = 0, worker = 0, preferred = 0,
         token = 0;
  Number number1 = 0, number2 = 0, charged = 0, interruptions = 0, at = 0, not_before = 0;
  std::string text1, text2, text3, text4, text5, state, how, spec;

  soci::statement insert_campaign, change_campaign, insert_repository, pin_repository,
      hold_repository, insert_unit, finish_unit, put_progress, drop_progress, put_comparison,
      see_flake, keep_baseline, expire_baselines, drop_baseline, read_baseline, insert_task,
      insert_spec, lease_task, read_spec, end_attempt, count_interruptions, return_task,
      finish_task, insert_result, change_task, insert_letter, handle_letter, reopen_campaign,
      reopen_unit, drop_comparison, remove_unit, see_worker, control_worker, insert_events, reserve;
};

}  // namespace cupel::coordinator::sql
