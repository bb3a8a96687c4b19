/// `cupel sandbox -- COMMAND...` and `cupel sandbox clean`: the workspace scope on the command line
/// (docs/sandbox.md).
#pragma once

#include "common/sandbox/workspace.hpp"

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cupel::cli {

struct SandboxRequest {
  enum class Verb : unsigned char { run, clean };

  Verb verb = Verb::run;
  sandbox::WorkspaceRequest workspace;
  std::vector<std::string> variables;  ///< --env NAME or NAME=VALUE
  std::string cache_quota;             ///< Sizes as people write them; empty = the default.
  std::string project_quota;
  std::string tmp_size;
  std::string report_file;
  bool dry_run = false;
  bool all = false;        ///< clean: every project's.
  std::string unused_for;  ///< clean: only those unused for this long; a duration.
  bool json = false;
  bool quiet = false;
  std::string timeout;  ///< A duration; empty = none.
};

/// What the program ends with when it isn't the command's own code. 2 is for the command line, as
/// everywhere.
inline constexpr int kExitLimit = 124;    ///< As timeout(1).
inline constexpr int kExitSandbox = 125;  ///< Refused, failed, over a quota, or nothing to start.

void add_sandbox_commands(CLI::App& app, SandboxRequest& request);

/// Runs the verb. The command has this process's standard streams; `err` is for messages and, with
/// --json, for the report. Returns the exit code. Takes over signals meanwhile.
[[nodiscard]] int run_sandbox_command(SandboxRequest request,
                                      std::map<std::string, std::string> environment,
                                      std::ostream& out, std::ostream& err);

}  // namespace cupel::cli
