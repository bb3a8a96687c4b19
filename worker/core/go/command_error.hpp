/// What the go command itself complains about before it looks at any package (rules A7, A8, B5).
#pragma once

#include "common/core/outcome.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker::go {

struct CommandError {
  Reason reason = Reason::none;  ///< Refused or inconclusive.
  FindingKind kind = FindingKind::manifest_error;
};

/// Nothing for words that are not known: the run is then unexplained.
[[nodiscard]] std::optional<CommandError> classify_command_error(std::string_view message);

/// A load error that a complete acquire would have prevented: a missing go.sum line, a module that
/// is not in the cache.
[[nodiscard]] bool says_acquire_incomplete(std::string_view message);

/// The tag of a failure that is probably the sandbox's doing (rule S2), empty for none:
/// readonly_source, needs_privilege, no_network, ipv6, timezone, user, missing_program, c_library.
[[nodiscard]] std::string_view environment_tag(std::string_view message);

}  // namespace cupel::worker::go
