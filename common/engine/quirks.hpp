/// Where an engine that speaks Docker's interface does something else by it. What an answer shows
/// is judged by the answer (answers.hpp); here is what no answer shows. Pure.
#pragma once

#include "common/engine/answers.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cupel::engine {

struct Quirks {
  /// A bare name in "Env" takes the variable of the engine's own process, where Docker removes the
  /// image's; and the engine adds variables of its own.
  bool foreign_variables = false;
  /// "seccomp=" names a file of the engine's host instead of holding the profile.
  bool seccomp_by_file = false;
  /// A runtime in the create request is dropped without a word.
  bool drops_runtime = false;
  /// Folders that are writable below a read-only root unless something is mounted there.
  std::vector<std::string_view> writable_folders = {};
  /// RLIMIT_NPROC to ask for; the engine's own value is higher than one without CAP_SYS_RESOURCE
  /// may set. 0: none.
  std::uint64_t processes_max = 0;
};

/// Facts: Podman 4.3.1, tests/integration/engines.
[[nodiscard]] Quirks quirks_of(const EngineVersion& version);

/// Errors: unsafe_sandbox for an engine that drops the limits of memory and processes: rootless on
/// version 1 of the control groups, where the kernel lets nobody but root set them.
[[nodiscard]] Result<void> check_limits(const EngineInfo& info);

/// Errors: unsafe_sandbox for a runtime that the engine doesn't list or would not use.
[[nodiscard]] Result<void> check_runtime(const EngineVersion& version, const EngineInfo& info,
                                         const std::string& runtime);

}  // namespace cupel::engine
