/// A campaign file as values. common/campaign/parse turns text into it and back into canonical
/// JSON.
#pragma once

#include "common/core/settings.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <map>
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
  Place place;  ///< Not part of the value: two entries that differ only here are equal.
  friend bool operator==(const RepositoryEntry& a, const RepositoryEntry& b) {
    return a.source == b.source && a.subdirs == b.subdirs;
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
  // Only the empty change exists so far; the key `change` and its other kinds are refused with
  // Errc::not_supported, so that no file silently means less than it says.
  ValidationSettings settings;
  std::uint32_t max_parallel = 0;        ///< Leases at once; 0 = all that the fleet gives.
  std::uint16_t retries_infra = 3;       ///< Interruption budget of a task.
  std::uint16_t retries_timeout = 1;     ///< Charged budget: a task that timed out runs again.
  std::uint64_t deadline_s = 24 * 3600;  ///< After it the open units are cancelled.
  std::vector<Verdict> fail_on = {Verdict::failing};  ///< gate: exit code 3
  double max_inconclusive_ratio = 1.0;                ///< gate: above it exit code 5
  KeepLogs keep_logs = KeepLogs::all;
  friend bool operator==(const Campaign&, const Campaign&) = default;
};

}  // namespace cupel::campaign
