/// module@version as a source: downloaded by the go command, which proves it, and unpacked.
#pragma once

#include "worker/acquire/acquire.hpp"
#include "worker/core/source/admission.hpp"
#include "worker/fs/snapshot.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <variant>

namespace cupel::worker {

struct DownloadedSource {
  Snapshot snapshot;
  std::string sum;      ///< The pin: "sum:h1:..." of the zip.
  std::string version;  ///< Canonical; a query such as "latest" is resolved.
  AcquireLog log;
};

/// Refusals: bad_version_query, module_not_found, checksum_mismatch (also: not the pinned sum),
/// upstream, what unpack_module_zip() says.
[[nodiscard]] boost::asio::awaitable<std::variant<DownloadedSource, AcquireStopped>>
download_module(AcquireContext context, ModuleSource module, std::string pinned,
                SnapshotLimits limits, std::shared_ptr<CancelToken> cancel);

}  // namespace cupel::worker
