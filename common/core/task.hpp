/// Tasks and results as values: what the coordinator asks, what a worker answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/core/digest.hpp"
#include "common/core/finding.hpp"
#include "common/core/ids.hpp"
#include "common/core/outcome.hpp"
#include "common/core/settings.hpp"
#include "common/core/time.hpp"

namespace cupel {

// ---- sources ---------------------------------------------------------------------------------

struct GitSource {
  std::string url;
  std::string ref;     ///< Branch, tag, full ref name or commit; empty = the remote's HEAD.
  friend bool operator==(const GitSource&, const GitSource&) = default;
};

/// A local path, packed by the client: a git pack of one commit, stored as an artifact.
struct BundleSource {
  Digest artifact;
  std::string commit;  ///< 40 hex digits.
  std::string name;    ///< How people call it (the path that was given).
  friend bool operator==(const BundleSource&, const BundleSource&) = default;
};

struct ModuleSource {
  std::string path;
  std::string version;  ///< Canonical version; a query such as "latest" is resolved in acquire.
  friend bool operator==(const ModuleSource&, const ModuleSource&) = default;
};

using Source = std::variant<GitSource, BundleSource, ModuleSource>;

/// "https://example.com/a.git@main", "path@commit", "module@version".
[[nodiscard]] std::string source_name(const Source& source);

/// One Go module of a repository: found by acquire, judged by execute.
struct UnitInfo {
  std::string dir;          ///< Below the snapshot's root; "." for the root itself.
  std::string module_path;
  std::string go_version;   ///< As the go line says; empty where there is none.
  bool vendored = false;    ///< vendor/modules.txt exists: runs with -mod=vendor, acquires nothing.
  std::string workspace;    ///< Path of the go.work that lists it; empty = GOWORK=off.
  /// Set when the unit can be judged without a run (a symlinked go.mod, replace outside, ...).
  Outcome outcome = Outcome::passing;
  Reason reason = Reason::none;
  std::vector<Finding> findings;
};

// ---- what is asked ---------------------------------------------------------------------------

/// Fetch a repository, pin it, write its snapshot, find its units.
struct AcquireSource {
  Source source;
  std::string pinned_commit;          ///< Non-empty: this very commit (a second acquire elsewhere).
  std::vector<std::string> subdirs;   ///< Empty = every go.mod.
};

/// Fill the unit's module cache and complete its manifests.
struct AcquireModules {
  std::string commit;
  UnitInfo unit;
};

/// Validate one side of a unit.
struct Execute {
  std::string commit;
  UnitInfo unit;
  Side side = Side::before;
};

/// Does nothing and says so: for benchmarks and for the probe of a quarantined worker.
struct NoOp {};

using Work = std::variant<AcquireSource, AcquireModules, Execute, NoOp>;

struct TaskSpec {
  TaskId id;
  CampaignId campaign;
  RepositoryId repository;
  UnitId unit;               ///< 0 for AcquireSource.
  TaskKind kind = TaskKind::acquire;
  Work work;
  ValidationSettings settings;
};

// ---- what is answered ------------------------------------------------------------------------

/// Facts of a snapshot, from AcquireSource.
struct SourceFacts {
  std::string commit;      ///< The pin. For a module: "sum:h1:..." of its zip.
  std::string tree;        ///< Digest over the snapshot's content as written.
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<UnitInfo> units;
};

/// Facts of a module cache, from AcquireModules.
struct ModuleFacts {
  std::string tree;            ///< Snapshot that execute will see (completed manifests).
  bool completed = false;      ///< A manifest was completed: the two trees differ.
  std::uint32_t modules = 0;
  std::uint64_t cache_bytes = 0;
};

/// A log kept as an artifact of the coordinator.
struct LogRef {
  CheckKind check = CheckKind::test;
  std::string name;        ///< Custom check's name, else empty.
  Stream stream = Stream::out;
  Digest artifact;
  std::uint64_t bytes = 0;
  bool truncated = false;
};

/// One check of an execute task.
struct CheckRecord {
  CheckKind check = CheckKind::test;
  std::string name;                  ///< Custom check's name, else empty.
  std::vector<std::string> command;
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::int32_t exit_code = -1;       ///< -1 where there is none.
  bool truncated = false;
  std::uint64_t duration_us = 0;
  std::uint32_t packages = 0;        ///< Listed or ended, by check.
  std::uint32_t tests = 0;
  std::uint32_t tests_not_run = 0;
};

/// Conditions that must be equal before two sides may be compared.
struct Evidence {
  std::string image;           ///< Identity: registry digest or assembled digest.
  std::string go_version;      ///< As `go env GOVERSION` of the image says.
  std::string engine;          ///< "docker 20.10.24, api 1.41, runc".
  std::string egress;          ///< "none", "configured" or "enforced".
  std::string proxy_mode;      ///< "network" or "fixture".
  std::string build_cache;     ///< "seeded:linked", "seeded:copied" or "empty".
  std::uint32_t parser_version = 0;
  std::string wrapper;         ///< Digest of the wrapper binary.
  std::vector<std::string> notes;
};

enum class Ending : std::uint8_t {
  completed,    ///< The outcome below is the task's answer.
  interrupted,  ///< Drain, lost lease, engine fault: no answer, try again (interruption budget).
  lost_workspace,  ///< The snapshot or module cache is not here: acquire again.
};

struct TaskResult {
  TaskId task;
  Token token;
  Ending ending = Ending::completed;
  Outcome outcome = Outcome::inconclusive;
  Reason reason = Reason::none;
  std::string message;               ///< One line for people: the first cause.
  std::vector<Finding> findings;
  bool findings_truncated = false;
  /// Set when the findings are too large for a message: then `findings` is empty and the artifact has
  /// them (wire::split_findings and wire::join_findings).
  Digest findings_artifact;
  std::vector<CheckRecord> checks;
  std::optional<SourceFacts> source;
  std::optional<ModuleFacts> modules;
  Evidence evidence;
  std::vector<LogRef> logs;
  WallTime started;
  WallTime finished;
};

}  // namespace cupel
