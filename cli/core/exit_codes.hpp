/// The exit codes of `cupel`: one table, which no output format changes.
#pragma once

#include "common/core/error.hpp"

#include <string>

namespace cupel::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitGate = 3;
inline constexpr int kExitForbidden = 4;
inline constexpr int kExitInconclusive = 5;
inline constexpr int kExitUnreachable = 6;
inline constexpr int kExitStillRunning = 8;
inline constexpr int kExitNotFound = 9;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitTerminated = 143;

/// Of an error, by the registry; a cancelled call was interrupted.
[[nodiscard]] int exit_code_of(const Error& error);
/// Of CLI11's own code for a command line that it could not parse: 0 for help, else usage.
[[nodiscard]] int exit_code_of_parser(int parser_code);
/// The text of `cupel help exit-codes`.
[[nodiscard]] std::string exit_codes_help();

}  // namespace cupel::cli
