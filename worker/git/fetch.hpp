/// Fetching a remote repository with a git child process into a fresh bare repository.
///
/// Argument lists are fixed, the environment is built from nothing, no hook, filter, helper or
/// configuration of the user or of the remote takes part, and everything has a bound.
#pragma once

#include "common/core/error.hpp"
#include "common/core/refusal.hpp"
#include "common/core/time.hpp"
#include "worker/git/policy.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace cupel::worker {

struct FetchRequest {
  std::string url;
  std::string ref;             ///< As in GitSource; empty = the remote's HEAD.
  std::string pinned_commit;   ///< Non-empty: this very commit, and `ref` only says where to look.
  std::filesystem::path into;  ///< Must not exist; becomes the bare repository.
};

struct Fetched {
  std::filesystem::path objects;  ///< For source::ObjectStore::open().
  std::string commit;             ///< 40 hex digits, peeled.
  std::string ref;                ///< Full name that was fetched; empty for a bare commit.
};

using FetchAnswer = std::variant<Fetched, SourceRefusal>;

/// Refusals: source_not_allowed, repository_not_found, ref_not_found, empty_repository,
/// unsupported_object_format, snapshot_too_large (over the policy's size), upstream (network, time,
/// credentials). Errors: process_failed (git itself is missing), cancelled, disk_full, io_error.
/// Cancelling kills git's whole process group. Thread rule: the run loop.
[[nodiscard]] boost::asio::awaitable<Result<FetchAnswer>> fetch_git(
    FetchRequest request, std::shared_ptr<const GitPolicy> policy,
    std::shared_ptr<CancelToken> cancel);

}  // namespace cupel::worker
