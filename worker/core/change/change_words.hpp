/// What the go command's words in a mutate run mean for a change. Pure; a table, tested with
/// recorded output.
#pragma once

#include "common/core/change.hpp"
#include "common/core/refusal.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::worker::change {

/// Why `go get` (or reading the modules after it) could not apply the change:
///   checksum_mismatch (security), resource_disk, requires_newer_toolchain (environment), upstream;
///   bad_version_query where a target's own version isn't there or is no version;
///   upgrade_not_applicable for all else (kind upgrade_error), with the toolchain's words.
[[nodiscard]] SourceRefusal judge_get_failure(std::string_view err,
                                              const std::vector<ModuleTarget>& targets);

/// A `go mod tidy` or `go mod vendor` that failed.
struct TidyFailure {
  /// The change is refused: what judge_get_failure says of checksums, toolchains, network; and a
  /// package that a moved module no longer has (upgrade_not_applicable).
  bool refused = false;
  SourceRefusal refusal;
  std::string words;  ///< Otherwise (gate tidy_failed): the toolchain's words, capped.
};
/// `moved`: paths of the modules whose version the change moved.
[[nodiscard]] TidyFailure judge_tidy_failure(std::string_view err,
                                             const std::vector<std::string>& moved);

/// Warnings of a `go get` that succeeded: "M@V: retracted by module author: ...", "module M is
/// deprecated: ...". At most 20.
[[nodiscard]] std::vector<std::string> warnings_of(std::string_view err);

/// The go version of "requires go >= 1.25.0"; empty where the text has none.
[[nodiscard]] std::string required_go(std::string_view text);

/// "M@V: excluded by go.mod".
[[nodiscard]] bool says_excluded(std::string_view err);

}  // namespace cupel::worker::change
