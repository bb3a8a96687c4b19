/// One go command of an acquire task, and what its ending says.
#pragma once

#include "worker/acquire/acquire.hpp"
#include "worker/core/engine/run.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::worker {

/// Host directories of one acquire: made fresh, discarded by the owner.
struct AcquireMounts {
  std::string source;
  std::string modcache;
  std::string gocache;
  std::string staging;
};

struct GoCommand {
  std::vector<std::string> arguments;  ///< Without "go".
  std::string workdir = ".";
  std::string workspace;  ///< Non-empty: with the staged go.work.
  Profile profile = Profile::acquire;
};

/// A command that ran to its own end, with paths of the staging directory turned into plain names.
struct GoEnded {
  int exit_code = 0;
  std::string out;
  std::string err;
  bool truncated = false;
};

[[nodiscard]] boost::asio::awaitable<std::variant<GoEnded, AcquireStopped>> run_go(
    AcquireContext context, AcquireMounts mounts, GoCommand command,
    std::shared_ptr<CancelToken> cancel, AcquireLog* log);

/// Is there a download cache for these runs? Not with a fixture proxy, and not for campaigns with
/// modules outside of the checksum database: nothing proves those, and their names may be those of
/// other, public ones. Pure.
[[nodiscard]] bool may_use_downloads(const AcquireContext& context);

/// The request of such a run. Pure.
[[nodiscard]] RunRequest go_request(const AcquireContext& context, const AcquireMounts& mounts,
                                    const GoCommand& command);

/// Why a run proves nothing, whatever its exit code says; nothing when it ended by itself and
/// whole. Pure.
[[nodiscard]] std::optional<AcquireStopped> unproven(const RunReport& report);

/// "/staging/go.mod" becomes "go.mod": people never see where a manifest was staged. Pure.
[[nodiscard]] std::string without_staging(std::string text);

[[nodiscard]] AcquireStopped stopped_by(SourceRefusal refusal);
[[nodiscard]] AcquireStopped stopped_by(const Error& error);

}  // namespace cupel::worker
