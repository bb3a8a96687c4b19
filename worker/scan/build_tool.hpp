/// Builds one pinned tool in the tool profile and proves what it is without running it.
#pragma once

#include "common/core/ids.hpp"
#include "common/core/scan.hpp"
#include "common/core/settings.hpp"
#include "common/core/time.hpp"
#include "worker/acquire/acquire.hpp"
#include "worker/ports/run_port.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <string>
#include <variant>

namespace cupel::worker {

struct ToolBuild {
  CampaignId campaign;
  TaskId task;
  Token token;
  TimePoint task_deadline;
  ToolPin pin;
  std::string image;       ///< Engine image id.
  std::string go_version;  ///< Of the image, "1.26.8".
  RunLimits limits;
  /// Host directories, fresh and writable for the container; the caller removes them.
  std::string modcache;
  std::string gocache;
  std::string tools;
};

struct BuiltTool {
  std::string bytes;
  std::string go_version;  ///< As the program says.
  AcquireLog log;
};

inline constexpr Duration kToolLimit = std::chrono::minutes(20);

/// `go install -trimpath PACKAGE@VERSION`. A program that is not what the pin says is a refusal
/// (checksum_mismatch where its sum is another, else scan_failed). `runs` and `files` outlive the
/// call. Run loop.
[[nodiscard]] boost::asio::awaitable<std::variant<BuiltTool, AcquireStopped>> build_tool(
    RunPort& runs, boost::asio::thread_pool& files, ToolBuild build,
    std::shared_ptr<CancelToken> cancel);

/// The request of that run. Pure.
[[nodiscard]] RunRequest tool_request(const ToolBuild& build);

/// What the words of a failed `go install` mean: upstream, checksum_mismatch or scan_failed. Pure.
[[nodiscard]] Reason tool_failure(std::string_view words);

}  // namespace cupel::worker
