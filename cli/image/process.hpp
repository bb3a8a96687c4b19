/// A child process with a fixed argument list: no shell, no standard input. Blocking.
#pragma once

#include "common/core/error.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::cli {

struct Command {
  std::vector<std::string> argv;  ///< argv[0] is looked up in the PATH of `environment`.
  std::map<std::string, std::string> environment;  ///< The whole of it.
  std::filesystem::path directory;                 ///< Empty: the caller's.
  std::chrono::seconds limit{600};                 ///< After it the process group is killed.
  std::function<void(std::string_view line)>
      on_error_line;  ///< Lines of stderr as they come; may be empty.
};

/// Standard output (at most 4 MiB) of a process that ended with 0.
/// Errors: not_found when there is no such program; process_failed (a limit as well) with the end
/// of its stderr.

[[nodiscard]] Result<std::string> run_command(const Command& command);

/// The program's file in the PATH of `environment`, or among `also`; empty when there is none.
[[nodiscard]] std::filesystem::path find_program(
    std::string_view name, const std::map<std::string, std::string>& environment,
    const std::vector<std::filesystem::path>& also = {});

}  // namespace cupel::cli
