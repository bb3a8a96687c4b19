/// Tasks and results as values: what the coordinator asks, what a worker answers.
#pragma once

#include "common/core/change.hpp"
#include "common/core/digest.hpp"
#include "common/core/finding.hpp"
#include "common/core/ids.hpp"
#include "common/core/outcome.hpp"
#include "common/core/scan.hpp"
#include "common/core/settings.hpp"
#include "common/core/source.hpp"
#include "common/core/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel {

// ---- units -----------------------------------------------------------------------------------

/// One Go module of a repository: found by acquire, judged by execute.
struct UnitInfo {
  std::string dir;  ///< Below the snapshot's root; "." for the root itself.
  std::string module_path;
  std::string go_version;  ///< As the go line says; empty where there is none.
  bool vendored = false;   ///< vendor/modules.txt exists: runs with -mod=vendor, acquires nothing.
  std::string workspace;   ///< Path of the go.work that lists it; empty = GOWORK=off.
  /// Set when the unit can be judged without a run (a symlinked go.mod, replace outside, ...).
  Outcome outcome = Outcome::passing;
  Reason reason = Reason::none;
  std::vector<Finding> findings;
};

// ---- what is asked ---------------------------------------------------------------------------

/// Fetch a repository, pin it, write its snapshot, find its units.
struct AcquireSource {
  Source source;
  std::string pinned_commit;         ///< Non-empty: this very commit (a second acquire elsewhere).
  std::vector<std::string> subdirs;  ///< Empty = every go.mod.
};

/// Fill the unit's module cache and complete its manifests.
struct AcquireModules {
  std::string commit;
  UnitInfo unit;
  Side side = Side::before;
  std::uint16_t variant = 0;  ///< See Mutate::variant.
};

/// Make the after side of a unit: find the versions, apply the change in a staged copy, judge what
/// it did to the manifests, write the after snapshot on this worker.
struct Mutate {
  std::string commit;
  UnitInfo unit;
  Change change;
  /// 0: the campaign's change. Others: parts of it, when a culprit is searched; each variant has a
  /// snapshot and a module cache of its own.
  std::uint16_t variant = 0;
  /// Non-empty: what an earlier attempt resolved; apply exactly this (a repetition on another
  /// worker).
  std::vector<ModuleTarget> resolved;
  /// For Select::vulnerable: what the scan of the before side found.
  std::vector<Vulnerability> vulnerabilities;
};

/// Validate one side of a unit.
struct Execute {
  std::string commit;
  UnitInfo unit;
  Side side = Side::before;
  std::uint16_t variant = 0;  ///< See Mutate::variant; 0 on the before side.
  std::uint16_t repeat = 0;   ///< 0: the first time; others are confirmations.
  std::string image;          ///< Overrides settings.image for this side (another Go version).
  /// Filled when the task is leased, for campaigns that scan; see ScanInput::wanted().
  ScanInput scan;
  bool only_scan = false;  ///< No list, build, vet and test: the campaign asks for the scan alone.
};

/// Build a pinned tool in the tool profile and upload its binary.
struct BuildTool {
  ToolPin tool;
  std::string image;  ///< Setting: a minor or an identity; "auto" = newest.
};

/// Nothing of a repository: the worker shows that its engine runs a container. The probe of a
/// worker in quarantine.
struct NoOp {};

using Work = std::variant<AcquireSource, AcquireModules, Execute, NoOp, Mutate, BuildTool>;

struct TaskSpec {
  TaskId id;
  CampaignId campaign;
  RepositoryId repository;  ///< 0 for BuildTool.
  UnitId unit;              ///< 0 for AcquireSource and BuildTool.
  TaskKind kind = TaskKind::acquire;
  Work work;
  ValidationSettings settings;
};

// ---- what is answered ------------------------------------------------------------------------

/// Facts of a snapshot, from AcquireSource.
struct SourceFacts {
  std::string commit;  ///< The pin. For a module: "sum:h1:..." of its zip.
  std::string tree;    ///< Digest over the snapshot's content as written.
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<UnitInfo> units;
  WallTime committed = {};  ///< When the commit was made; 0 = not known, and for a module.
};

/// Facts of a module cache, from AcquireModules.
struct ModuleFacts {
  std::string tree;        ///< Snapshot that execute will see (completed manifests).
  bool completed = false;  ///< A manifest was completed: the two trees differ.
  std::uint32_t modules = 0;
  std::uint64_t cache_bytes = 0;
};

/// A log kept as an artifact of the coordinator.
struct LogRef {
  CheckKind check = CheckKind::test;
  std::string name;  ///< Custom check's name, else empty.
  Stream stream = Stream::out;
  Digest artifact;
  std::uint64_t bytes = 0;
  bool truncated = false;
};

/// One check of an execute task.
struct CheckRecord {
  CheckKind check = CheckKind::test;
  std::string name;  ///< Custom check's name, else empty.
  std::vector<std::string> command;
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::int32_t exit_code = -1;  ///< -1 where there is none.
  bool truncated = false;
  std::uint64_t duration_us = 0;
  std::uint32_t packages = 0;  ///< Listed or ended, by check.
  std::uint32_t tests = 0;
  std::uint32_t tests_not_run = 0;
};

/// Conditions that must be equal before two sides may be compared.
struct Evidence {
  std::string image;       ///< Identity: registry digest or assembled digest.
  std::string go_version;  ///< As `go env GOVERSION` of the image says.
  std::string engine;      ///< "docker 20.10.24, api 1.41, runc".
  std::string egress;      ///< "none", "configured" or "enforced".
  std::string proxy_mode;  ///< "network" or "fixture".
  /// "empty", "seeded:linked" or "seeded:copied", then perhaps ", dependencies:linked".
  std::string build_cache;
  std::uint32_t parser_version = 0;
  std::string wrapper;  ///< Digest of the wrapper binary.
  std::vector<std::string> notes;
};

enum class Ending : std::uint8_t {
  completed,       ///< The outcome below is the task's answer.
  interrupted,     ///< Drain, lost lease, engine fault: no answer, try again (interruption budget).
  lost_workspace,  ///< The snapshot or module cache is not here: acquire again.
};

struct TaskResult {
  TaskId task;
  Token token;
  Ending ending = Ending::completed;
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::string message;  ///< One line for people: the first cause.
  std::vector<Finding> findings;
  bool findings_truncated = false;
  /// Set when the findings are too large for a message: then `findings` are the first ones and the
  /// artifact has all (wire::split_findings and wire::join_findings).
  Digest findings_artifact;
  std::vector<CheckRecord> checks;
  std::optional<SourceFacts> source;
  std::optional<ModuleFacts> modules;
  std::optional<ChangeFacts> change;
  std::optional<ScanFacts> scan;
  std::optional<ToolFacts> tool;
  Evidence evidence;
  std::vector<LogRef> logs;
  WallTime started;
  WallTime finished;
};

}  // namespace cupel
