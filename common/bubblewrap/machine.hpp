/// Can this machine make sandboxes for runs, and of which kind? Blocking, some milliseconds.
#pragma once

#include "common/bubblewrap/launch.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cupel::bubblewrap {

struct Machine {
  std::string program;                  ///< "bubblewrap 0.8.0"
  std::vector<CompiledFilter> filters;  ///< sandbox::run_filter() and the terminal's.
  /// Root runs everything as a user that owns nothing; anybody else as itself, and then files that
  /// runs write belong to whoever launches them.
  std::optional<RunAs> run_as;
  bool scope_sockets = false;  ///< Abstract sockets of the host can be closed to a sandbox.
};

/// Looks for bubblewrap, compiles the filters and starts one sandbox that does nothing. Errors:
/// not_found (bubblewrap), unsafe_sandbox (no user namespaces, no filter), with what to do.
[[nodiscard]] Result<Machine> look_at_machine();

}  // namespace cupel::bubblewrap
