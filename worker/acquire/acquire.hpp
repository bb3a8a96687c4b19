/// The acquire pipelines: from a source to a recorded snapshot, from a unit to a recorded module cache.
/// Coroutines of the run loop; blocking work goes to the file pool.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/core/task.hpp"
#include "worker/fs/workspaces.hpp"
#include "worker/ports/run_port.hpp"

namespace cupel::worker {

/// What of the worker's configuration concerns sources.
struct SourcePolicy {
  bool allow_local = false;                 ///< file: URLs and loopback hosts.
  std::vector<std::string> allowed;         ///< Hosts or URL prefixes accepted all the same.
  std::string git_credentials_file;         ///< Empty: none.
  std::string fixture_proxy;                ///< Directory; empty: the network.
  std::string downloads;                    ///< The download cache's directory; empty: none.
  std::string netrc_file;                   ///< For the module proxy; empty: none.
  /// Hands over a module cache that nothing else needs any more, for the download cache to look
  /// at; `keep` removes it. Any thread. Empty: there is none.
  std::function<void(const std::string& modcache, std::shared_ptr<void> keep)> share;
};

/// What both pipelines need. References outlive the call.
struct AcquireContext {
  RunPort& runs;
  boost::asio::thread_pool& files;
  Workspaces& workspaces;
  SourcePolicy policy;
  // Who and how: labels and limits of every run.
  CampaignId campaign;
  RepositoryId repository;
  UnitId unit;
  TaskId task;
  Token token;
  TimePoint task_deadline;
  ValidationSettings settings;
  std::string image;                        ///< Engine image id for the go command.
  std::string image_go_version;             ///< "1.26.8": to tell requires_newer_toolchain.
};

/// How an acquire ended without its product.
struct AcquireStopped {
  enum class Kind {
    refusal,      ///< An answer about the repository (refused or inconclusive by its reason).
    interrupted,  ///< The engine or the host failed, or it was cancelled: try again.
    lost,         ///< The snapshot is not on this worker.
  } kind = Kind::refusal;
  SourceRefusal refusal;   ///< For Kind::refusal.
  std::string message;     ///< For the others.
};

/// The log of the acquire runs, for the log artifacts: go's own words, capped.
struct AcquireLog {
  std::string out;
  std::string err;
  bool truncated = false;
};

struct SourceAcquired {
  SourceFacts facts;
  AcquireLog log;
};

/// Fetches, admits, writes and verifies the snapshot, finds the units, and records it.
/// `bundle`: host path of the downloaded pack for a BundleSource, else empty.
[[nodiscard]] boost::asio::awaitable<std::variant<SourceAcquired, AcquireStopped>> acquire_source(
    AcquireContext context, AcquireSource work, std::string bundle, std::shared_ptr<CancelToken> cancel);

/// A tree that was fetched beside the repository, as a snapshot that nobody recorded: the caller
/// discards it.
struct CandidateFetched {
  std::string snapshot;
  std::string commit;                         ///< The pin.
  std::map<std::string, std::string> go_mods; ///< Path to content of every go.mod.
};
/// Like acquire_source, without units and without a record.
[[nodiscard]] boost::asio::awaitable<std::variant<CandidateFetched, AcquireStopped>> fetch_candidate(
    AcquireContext context, AcquireSource work, std::string bundle, std::shared_ptr<CancelToken> cancel);

struct ModulesAcquired {
  ModuleFacts facts;
  UnitInfo unit;                   ///< With what was completed.
  std::vector<Finding> findings;   ///< Notes.
  AcquireLog log;
  bool cache_hit = false;
};

/// Fills the unit's module cache, completes its manifests into a second snapshot, and records both.
[[nodiscard]] boost::asio::awaitable<std::variant<ModulesAcquired, AcquireStopped>> acquire_modules(
    AcquireContext context, AcquireModules work, std::shared_ptr<CancelToken> cancel);

}  // namespace cupel::worker
