/// Records of the coordinator and the transitions between them. The core machine makes transitions,
/// the store applies a batch of them in one transaction, and what the machine promised is sent
/// after it.
#pragma once

#include "common/core/boxed.hpp"
#include "common/core/message.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::coordinator {

enum class CampaignState : std::uint8_t { running, paused, finished, cancelled };
enum class TaskState : std::uint8_t { blocked, queued, leased, done, dead, cancelled };
[[nodiscard]] std::string_view name(CampaignState state);
[[nodiscard]] std::string_view name(TaskState state);
[[nodiscard]] std::optional<CampaignState> parse_campaign_state(std::string_view text);
[[nodiscard]] std::optional<TaskState> parse_task_state(std::string_view text);
/// Who keeps a worker from getting work: nobody, the operator, or the fleet after failures.
enum class Quarantine : std::uint8_t { none, by_operator, automatic };
[[nodiscard]] std::string_view name(Quarantine value);
[[nodiscard]] std::optional<Quarantine> parse_quarantine(std::string_view text);

struct CampaignRow {
  CampaignId id;
  std::string owner;
  std::string name;
  std::int32_t priority = 0;
  CampaignState state = CampaignState::running;
  std::string document;  ///< Canonical JSON of the campaign file.
  std::string digest;    ///< SHA-256 of `document`, hex.
  std::string idempotency_key;
  WallTime created;
  WallTime finished;  ///< us = 0: not yet.
};

struct RepositoryRow {
  RepositoryId id;
  CampaignId campaign;
  std::uint32_t ordinal = 0;
  std::string name;    ///< source_name(), for people.
  std::string source;  ///< JSON of Source.
  std::vector<std::string> subdirs;
  std::string commit;  ///< The pin; empty until acquired.
  std::string tree;
  WorkerId holder;          ///< Who has the snapshot; 0 none.
  WallTime committed = {};  ///< When the commit was made; 0 = not known.
};

struct UnitRow {
  UnitId id;
  CampaignId campaign;
  RepositoryId repository;
  std::string info;                ///< JSON of UnitInfo.
  std::optional<Verdict> verdict;  ///< Empty while open.
  Reason reason = Reason::none;
  Fault fault = Fault::none;
  std::string message;
  TaskId deciding_task;  ///< Whose result decided; 0 none.
  WallTime finished;
};

enum class DeadLetterState : std::uint8_t { open, replayed, dropped };
[[nodiscard]] std::string_view name(DeadLetterState state);
[[nodiscard]] std::optional<DeadLetterState> parse_dead_letter_state(std::string_view text);

/// A task that used up a budget, kept until people have looked at it. Its evidence is in its
/// attempts and, where there is one, its result.
struct DeadLetterRow {
  TaskId task;
  CampaignId campaign;
  RepositoryId repository;  ///< 0 for a tool's.
  UnitId unit;  ///< 0 for the acquisition of a repository: its units are those it decided.
  TaskKind kind = TaskKind::acquire;
  Reason reason = Reason::none;
  std::string message;
  WallTime at;
  DeadLetterState state = DeadLetterState::open;
  WallTime handled;  ///< When it was replayed or dropped.
};

/// A task as the scheduler sees it: about 100 bytes; the spec stays in the store.
struct TaskRow {
  TaskId id;
  CampaignId campaign;
  RepositoryId repository;
  UnitId unit;
  TaskKind kind = TaskKind::acquire;
  TaskState state = TaskState::queued;
  WorkerId preferred;  ///< Must run there (holder of the workspace); 0 = anywhere.
  std::int32_t priority = 0;
  std::uint16_t charged = 0;        ///< Failures of the task's own doing so far.
  std::uint16_t interruptions = 0;  ///< Lost workers, drains, engine faults so far.
  Token token;                      ///< Of the live attempt, or the last.
  WorkerId worker;                  ///< Of the live attempt.
  WallTime ready;                   ///< When it became ready (queue wait is measured from here).
  WallTime not_before;              ///< Back-off after a failed attempt.
  std::uint32_t step = 0;           ///< planner::Step of a unit's task, packed.
};

// ---- transitions -----------------------------------------------------------------------------

struct CampaignCreated {
  CampaignRow campaign;
};
struct CampaignChanged {
  CampaignId id;
  CampaignState state;
  WallTime at;
};
struct RepositoryCreated {
  RepositoryRow repository;
};
struct RepositoryPinned {
  RepositoryId id;
  std::string commit;
  std::string tree;
  WorkerId holder;
  WallTime committed = {};
};
struct RepositoryHolder {
  RepositoryId id;
  WorkerId holder;
};  ///< Workspace gained or lost (0).
struct UnitCreated {
  UnitRow unit;
};
struct UnitFinished {
  UnitId id;
  Verdict verdict;
  Reason reason;
  Fault fault;
  std::string message;
  TaskId deciding_task;
  WallTime at;
};
/// What is known of an open unit of a campaign that compares; replaces what was there.
struct UnitProgressed {
  UnitId id;
  CampaignId campaign;
  std::string body;
};
/// The comparison behind a verdict, for the API; ends the unit's progress.
struct UnitCompared {
  UnitId id;
  CampaignId campaign;
  std::string body;
};
/// A problem that some runs of one side showed and others didn't: counted over all campaigns.
struct FlakeSeen {
  std::string repository;
  std::string module;
  std::string key;
  std::string signature;
  std::uint32_t hits = 0;
  std::uint32_t runs = 0;
  CampaignId campaign;
  WallTime at;
};
/// A before side that others may take over until `expires`; replaces what was there. `body`: as
/// compare::baseline_text() wrote it.
struct BaselineKept {
  std::string name;
  CampaignId campaign;
  UnitId unit;
  std::string body;
  WallTime at;
  WallTime expires;
};
/// It is not to be taken over any more.
struct BaselineDropped {
  std::string name;
};
/// Asks for the before side of a unit; Applied::baselines gives it, where there is one.
struct BaselineWanted {
  UnitId unit;
  std::string name;
  WallTime at;
};
/// A stored before side.
struct BaselineRow {
  CampaignId campaign;
  UnitId unit;
  std::string body;
  WallTime at;
};
/// `spec`: JSON of TaskSpec::work and unit facts. Empty for the first acquisition of a repository:
/// the repository's row says all of it.
struct TaskCreated {
  TaskRow task;
  std::string spec;
};
/// `has_spec`: as TaskCreated had one; then Applied::specs gives it back.
struct TaskLeased {
  TaskId id;
  Token token;
  WorkerId worker;
  WallTime at;
  bool has_spec = true;
};
/// Back to the queue (or dead) without a result; ends the attempt `token`.
struct TaskReturned {
  TaskId id;
  Token token;
  TaskState state;
  std::uint16_t charged;
  std::uint16_t interruptions;
  WallTime not_before;
  WallTime at;
  std::string why;
};
struct TaskFinished {
  TaskId id;
  Token token;
  WallTime at;
  Boxed<TaskResult> result;
};
struct TaskStateChanged {
  TaskId id;
  TaskState state;
  WorkerId preferred;
  WallTime at;
};
struct WorkerSeen {
  WorkerId id;
  std::string name;
  std::string key;
  std::string host;
  std::string version;
  WallTime at;
};
struct DeadLetterAdded {
  DeadLetterRow letter;
};
/// With `unit`, of every open letter of that unit.
struct DeadLetterHandled {
  TaskId task;
  UnitId unit;
  DeadLetterState state;
  WallTime at;
};
/// A finished campaign goes on, because something in it is asked again.
struct CampaignReopened {
  CampaignId id;
  WallTime at;
};
/// A judged unit is open again; its verdict and comparison are gone.
struct UnitReopened {
  UnitId id;
};
/// The unit that stood for a repository that could not be had.
struct UnitRemoved {
  UnitId id;
};
/// What was ordered for a worker, by the operator or by the fleet; replaces what was there.
struct WorkerControls {
  WorkerId id;
  bool draining = false;
  WallTime drain_by;  ///< What still runs then is given back; 0 = it may end by itself.
  Quarantine quarantine = Quarantine::none;
  std::uint32_t round = 0;  ///< Quarantines without a good while between them; the pause doubles.
  std::string why;          ///< Of the quarantine, for people.
  WallTime since;           ///< Of the quarantine.
  WallTime probe_at;        ///< Of an automatic one: no probe before this.
};
/// Appends to `events`; feeds SSE. `body` is a JSON object.
struct EventAppended {
  CampaignId campaign;
  std::string type;
  std::string body;
  WallTime at;
};
/// Ids up to these numbers are handed out: written before any of them is used.
struct SequencesReserved {
  std::uint64_t ids = 0;
  std::uint64_t tokens = 0;
};

using Transition =
    std::variant<CampaignCreated, CampaignChanged, RepositoryCreated, RepositoryPinned,
                 RepositoryHolder, UnitCreated, UnitFinished, UnitProgressed, UnitCompared,
                 FlakeSeen, BaselineKept, BaselineDropped, BaselineWanted, TaskCreated, TaskLeased,
                 TaskReturned, TaskFinished, TaskStateChanged, DeadLetterAdded, DeadLetterHandled,
                 CampaignReopened, UnitReopened, UnitRemoved, WorkerSeen, WorkerControls,
                 EventAppended, SequencesReserved>;

/// What the machine needs back at start.
struct Recovered {
  FleetId fleet;
  SequencesReserved sequences;
  std::vector<CampaignRow> campaigns;       ///< Running and paused ones.
  std::vector<RepositoryRow> repositories;  ///< Of those campaigns.
  std::vector<UnitRow> units;               ///< Of those campaigns.
  std::vector<UnitProgressed> progress;     ///< Of their open units, where there is any.
  std::vector<TaskRow> tasks;               ///< Of those campaigns: blocked, queued, leased.
  std::vector<WorkerControls> controls;     ///< Of workers that drain or are in quarantine.
  std::vector<ToolFacts> tools;     ///< What tool tasks built, of each image the last agreement.
  std::vector<WorkerSeen> workers;  ///< Every worker ever seen: binds its key to its id.
};

}  // namespace cupel::coordinator
