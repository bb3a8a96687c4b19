/// What the pieces of one mutate share.
#pragma once

#include "worker/acquire/go_run.hpp"
#include "worker/acquire/staging.hpp"
#include "worker/core/change/assess_change.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/mutate/mutate.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::worker::mutation {

using Stopped = std::optional<AcquireStopped>;

/// A unit's manifests in the staging directory.
struct Staged {
  std::string mod;
  std::optional<std::string> sum;
  friend bool operator==(const Staged&, const Staged&) = default;
};

struct Job {
  Job(AcquireContext where, Mutate what) : context(std::move(where)), work(std::move(what)) {}

  AcquireContext context;
  Mutate work;
  std::vector<std::string> bundles;
  SourceWorkspace source;
  /// What the runs see and the edits are made against: the commit's snapshot, or one that holds
  /// candidates of libraries as well (then it is this job's own).
  std::string base;
  std::string base_tree;
  AcquireMounts mounts;
  Manifests manifests;   ///< Of the unit as committed; `mod_path` is its go.mod, never a go.work.
  bool in_tree = false;  ///< The whole tree is staged: a vendored unit or a member of a workspace.
  Staged committed;      ///< As staged at first: a go line may have been added.
  AcquireLog log;
  change::Applied applied;
  std::vector<ModuleTarget> pinned;  ///< Candidates with their commits, for a repetition.
  bool patchable = true;             ///< False: the after side holds what no patch should bring.
  std::vector<Candidate> candidates;
  std::vector<Finding> notes;
  TreeEdits edits;  ///< What the change makes of the snapshot.
};
using JobPtr = std::shared_ptr<Job>;

using Ran = std::variant<GoEnded, AcquireStopped>;

/// Blocking. Directories, staged manifests of `base`, the before side of the manifests.
[[nodiscard]] Stopped prepare(const JobPtr& job);

/// One go command on the staged manifests: `verb` such as {"mod", "tidy"}, then `rest`.
[[nodiscard]] boost::asio::awaitable<Ran> go(JobPtr job, std::vector<std::string> verb,
                                             std::vector<std::string> rest,
                                             std::shared_ptr<CancelToken> cancel);

/// The staged manifests as they are now. Blocking.
[[nodiscard]] Result<Staged> read_staged(const Job& job);
[[nodiscard]] Result<void> write_staged(const Job& job, const Staged& staged);

/// The same on the file pool.
[[nodiscard]] boost::asio::awaitable<std::variant<Staged, AcquireStopped>> staged_now(JobPtr job);
/// Writes manifests back: commands that only ask may complete go.sum as they go.
[[nodiscard]] boost::asio::awaitable<Stopped> put_back(JobPtr job, Staged staged);

/// `go list -m -json all` of the staged manifests. Fills `list`.
[[nodiscard]] boost::asio::awaitable<Stopped> list_modules(JobPtr job, change::BuildList* list,
                                                           std::shared_ptr<CancelToken> cancel);

/// What a change comes down to for this unit.
struct Targets {
  std::vector<ModuleTarget> exact;
  NotAffected not_affected = NotAffected::none;  ///< Set when `exact` is empty.
};
/// Finds exact versions for the upgrade (or takes Mutate::resolved); notes and candidates go into
/// the job. Needs the build list of the before side.
[[nodiscard]] boost::asio::awaitable<std::variant<Targets, AcquireStopped>> find_targets(
    JobPtr job, Upgrade rules, std::shared_ptr<CancelToken> cancel);

/// Kind replace: puts the candidates in place. Fills targets, base, notes; edits the staged go.mod.
/// `none` is set when the unit has none of the modules.
[[nodiscard]] boost::asio::awaitable<Stopped> place_candidates(JobPtr job, Replace replace,
                                                               NotAffected* none,
                                                               std::shared_ptr<CancelToken> cancel);

/// One edit of the staged go.mod, on the file pool.
[[nodiscard]] boost::asio::awaitable<Stopped> edit_go_mod(
    JobPtr job, std::function<std::string(const std::string&)> edit);

/// Copies the snapshot below the staging directory, writable for the container's user. Blocking.
[[nodiscard]] Result<void> stage_tree(const std::string& snapshot, const std::string& staging);
/// What differs between the snapshot and the staged copy. Blocking.
[[nodiscard]] Result<TreeEdits> tree_edits(const std::string& snapshot, const std::string& staging);

[[nodiscard]] AcquireStopped refused(Reason reason, FindingKind kind, std::string message);

}  // namespace cupel::worker::mutation
