/// Proves that what the worker mounts is what a container sees.
#pragma once

#include "common/core/error.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace cupel::worker {

struct ProbeRequest {
  std::string image;  ///< Any image that is present; only its file system is used.
  std::vector<std::string> roots = {};  ///< Directories below which mounts will be made.
  std::string socket_path;              ///< For the message.
  Token token = {};
};

/// Writes a marker with a unique name into a fresh directory below each root, and lets a container
/// of the execute profile look for every one of them and use files of its own in the build cache:
/// on some shares of virtual machines new files belong to somebody else. Errors:
/// mount_probe_failed, naming the directory and the socket; what the run itself said.
[[nodiscard]] boost::asio::awaitable<Result<void>> probe_mounts(RunPort& runs,
                                                                ProbeRequest request);

}  // namespace cupel::worker
