/// A campaign file as values. common/campaign/parse turns text into it and back into canonical
/// JSON.
#pragma once

#include "common/core/change.hpp"
#include "common/core/settings.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::campaign {

/// A folder of the client's machine. Only the client sees it: it packs the folder and submits a
/// BundleSource in its place; a coordinator refuses it.
struct LocalPath {
  std::string path;  ///< As written; relative to the campaign file.
  std::string ref;   ///< For a git repository: branch, tag or commit; empty = HEAD.
  friend bool operator==(const LocalPath&, const LocalPath&) = default;
};

/// A folder that the client could not pack because its content can't be trusted (hostile git
/// configuration, alternates outside, ...). It stays in the campaign, so that its unit gets the
/// verdict
/// `<class_of(reason)>:<reason>` instead of disappearing; nothing is ever acquired for it.
struct RefusedSource {
  std::string name;                                  ///< The path as written.
  Reason reason = Reason::source_not_allowed;        ///< Never `none`.
  std::string message;                               ///< One line for people, at most 4 KiB.
  FindingKind finding = FindingKind::acquire_error;  ///< What the unit's one finding is.
  friend bool operator==(const RefusedSource&, const RefusedSource&) = default;
};

/// Where something stands in the file, 1-based; 0 = unknown (canonical JSON has no places).
struct Place {
  int line = 0;
  int column = 0;
};

struct RepositoryEntry {
  std::variant<GitSource, BundleSource, ModuleSource, LocalPath, RefusedSource> source;
  std::vector<std::string> subdirs;  ///< Empty = every go.mod.
  /// What is upgraded here in place of Upgrade::modules; empty = what the campaign says.
  std::vector<ModuleTarget> upgrade;
  Place place;  ///< Not part of the value: two entries that differ only here are equal.
  friend bool operator==(const RepositoryEntry& a, const RepositoryEntry& b) {
    return a.source == b.source && a.subdirs == b.subdirs && a.upgrade == b.upgrade;
  }
};

/// A candidate of a library that is a folder of the client's machine: packed like a repository, and
/// then an entry of Replace.
struct LocalReplacement {
  std::string module;
  LocalPath with;
  Place place;  ///< Not part of the value.
  friend bool operator==(const LocalReplacement& a, const LocalReplacement& b) {
    return a.module == b.module && a.with == b.with;
  }
};

/// How a difference between the sides is proven. `runs` repeats of both sides follow the first
/// difference; `need` of the after side's repeats must show it, and no run of the before side may.
struct Confirm {
  std::uint16_t runs = 3;  ///< 0: the first difference counts, unconfirmed.
  std::uint16_t need = 3;
  friend bool operator==(const Confirm&, const Confirm&) = default;
};

enum class Baseline : std::uint8_t {
  automatic,  ///< As `always`, until stored results can be used where every condition is equal.
  always,     ///< The before side is run for every unit.
  off,        ///< Only the after side is run; its outcome is the verdict.
};

/// A vulnerability database as it was taken for the campaign: every unit and both sides use it.
struct ScanSnapshot {
  Digest artifact;   ///< Of its tar.
  std::string id;    ///< Of its content, 64 hex digits.
  std::string time;  ///< As the database says.
  friend bool operator==(const ScanSnapshot&, const ScanSnapshot&) = default;
};

/// Whether and with what units are scanned.
struct ScanPlan {
  bool enabled = false;
  /// As written: path or URL; empty = the coordinator's. Whoever takes the snapshot fills
  /// `snapshot`, or `problem` and `message` (vulndb_corrupt, vulndb_unavailable): then every unit's
  /// scan is inconclusive with that reason.
  std::string database;
  std::optional<ScanSnapshot> snapshot;
  Reason problem = Reason::none;
  std::string message;
  std::uint64_t limit_s = 600;
  Place place;  ///< Not part of the value.
  [[nodiscard]] bool settled() const {
    return !enabled || snapshot.has_value() || problem != Reason::none;
  }
  friend bool operator==(const ScanPlan& a, const ScanPlan& b) {
    return a.enabled == b.enabled && a.database == b.database && a.snapshot == b.snapshot &&
           a.problem == b.problem && a.message == b.message && a.limit_s == b.limit_s;
  }
};

enum class KeepLogs : std::uint8_t { all, failed, none };

struct Campaign {
  std::string name;
  std::string description;
  std::string owner;  ///< Empty: the token's identity.
  std::map<std::string, std::string> labels;
  std::int32_t priority = 0;  ///< -100..100, larger first.
  std::vector<RepositoryEntry> repositories;
  Change change;
  std::vector<LocalReplacement> local_replacements;  ///< Only before the client has packed them.
  Confirm confirm;
  Baseline baseline = Baseline::automatic;
  std::uint32_t aa = 0;  ///< The unchanged side of that many repositories is run once more.
  ValidationSettings settings;
  ScanPlan scan;
  std::uint32_t max_parallel = 0;        ///< Leases at once; 0 = all that the fleet gives.
  std::uint16_t retries_infra = 3;       ///< Interruption budget of a task.
  std::uint16_t retries_timeout = 1;     ///< Charged budget: a task that timed out runs again.
  std::uint64_t deadline_s = 24 * 3600;  ///< After it the open units are cancelled.
  /// gate: exit code 3. A campaign with a change says [regressed, changed_failure] unless the file
  /// says otherwise; without a baseline [failing].
  std::vector<Verdict> fail_on = {Verdict::failing, Verdict::refused};
  double max_inconclusive_ratio = 0.05;  ///< gate: above it exit code 5
  KeepLogs keep_logs = KeepLogs::all;
  friend bool operator==(const Campaign&, const Campaign&) = default;
};

}  // namespace cupel::campaign
