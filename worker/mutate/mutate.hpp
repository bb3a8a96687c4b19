/// The mutate pipeline: from a unit's snapshot and a change to a recorded after side.
/// A coroutine of the run loop; blocking work goes to the file pool. No repository code runs.
#pragma once

#include "common/core/task.hpp"
#include "worker/acquire/acquire.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace cupel::worker {

struct Mutated {
  ChangeFacts facts;              ///< `patch` names the bytes below; they are not uploaded yet.
  UnitInfo unit;                  ///< Of the after side: its go line decides the image.
  std::vector<Finding> findings;  ///< Notes.
  std::string patch;              ///< Unified diff; empty: nothing changed.
  AcquireLog log;
};

/// Finds the versions, applies the change in a staged copy, judges what it did, records the after
/// side in the slot of `work.variant` (not when nothing changed).
///
/// Without a change (NoChange) the after side that is here is checked once more, just before its
/// patch is handed out; see verify.hpp.
///
/// `bundles`: host paths of the downloaded packs, one for each entry of Replace::modules; empty for
/// those that are no BundleSource.
/// Refusals: bad_version_query, upgrade_not_applicable, requires_newer_toolchain,
/// checksum_mismatch,
///   vendored_change_unsupported, workspace_change_unsupported, upstream, and what acquire says of
///   sources and manifests. Errors as AcquireStopped::Kind::interrupted; Kind::lost when the
///   snapshot is not here.
[[nodiscard]] boost::asio::awaitable<std::variant<Mutated, AcquireStopped>> mutate(
    AcquireContext context, Mutate work, std::vector<std::string> bundles,
    std::shared_ptr<CancelToken> cancel);

}  // namespace cupel::worker
