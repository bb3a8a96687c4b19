/// The closed lists of words that a task, a unit and a finding can say. Parsing and printing use
/// the names of the lists; wire, store, API, metrics and reports share them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cupel {

enum class TaskKind : std::uint8_t { acquire, mutate, execute, tool };
enum class Side : std::uint8_t { before, after };
enum class CheckKind : std::uint8_t { list, build, vet, test, scan, custom };
enum class Stream : std::uint8_t { out, err };

/// What a task or a side says. For a plain validation it is the verdict of the unit as well.
enum class Outcome : std::uint8_t { passing, failing, inconclusive, refused, cancelled };

/// The one answer for a unit. The first five are those of a plain validation.
enum class Verdict : std::uint8_t {
  passing,
  failing,
  inconclusive,
  refused,
  cancelled,
  compatible,
  regressed,
  fixed,
  broken_before,
  changed_failure,
  flaky,
  not_affected,
};

enum class Fault : std::uint8_t { none, repository, change, dependency, fleet, upstream, unknown };

/// Why an outcome is not a plain pass or fail. `none` goes with passing and failing.
/// Where several apply: fleet reasons, then resource_*, timeout, output_truncated,
/// incomplete_stream, unexplained_exit (stronger_reason()).
enum class Reason : std::uint8_t {
  none,
  // inconclusive
  aborted,
  acquire_incomplete,
  cgo_unavailable,
  end_marker_missing,
  exit_mismatch,
  incomplete_stream,
  io_incomplete,
  lfs_pointer,
  module_not_found,
  no_packages,
  output_truncated,
  parse_failed,
  race_unavailable,
  resource_disk,
  resource_memory,
  resource_pids,
  sandbox_noexec_tmp,
  scan_failed,
  submodule_not_fetched,
  timeout,
  unexplained_exit,
  vulndb_corrupt,
  vulndb_unavailable,
  // inconclusive, the fleet's
  engine,
  image_missing,
  lease_lost,
  upstream,
  // refused
  alternates_outside,
  bad_go_mod,
  bad_go_sum,
  bad_go_work,
  bad_version_query,
  checksum_mismatch,
  empty_repository,
  gitdir_outside,
  hostile_git_config,
  malformed_tree,
  manifest_is_symlink,
  module_path_mismatch,
  no_go_mod,
  path_too_long,
  replace_outside_repo,
  requires_newer_toolchain,
  snapshot_too_large,
  submodule_untrusted_url,
  unsupported_object_format,
  unsupported_toolchain,
  upgrade_not_applicable,
  vendored_change_unsupported,
  work_outside_repo,
  workspace_change_unsupported,
  // refused: a source that can't be read at all
  repository_not_found,
  ref_not_found,
  source_not_allowed,
};

enum class FindingKind : std::uint8_t {
  build_failure,
  build_failure_dependent,
  setup_failure,
  vet,
  test_failure,
  test_failure_derived,
  test_timeout,
  test_unfinished,
  package_failure,
  package_unfinished,
  io_incomplete,
  resource_limit,
  environment,
  limit,
  manifest_error,
  acquire_error,
  upgrade_error,
  scan_error,
  vuln,
  security,
  note,
};

/// The name of a value, such as "resource_memory". Every enum above has both functions.
[[nodiscard]] std::string_view name(TaskKind value);
[[nodiscard]] std::string_view name(Side value);
[[nodiscard]] std::string_view name(CheckKind value);
[[nodiscard]] std::string_view name(Stream value);
[[nodiscard]] std::string_view name(Outcome value);
[[nodiscard]] std::string_view name(Verdict value);
[[nodiscard]] std::string_view name(Fault value);
[[nodiscard]] std::string_view name(Reason value);
[[nodiscard]] std::string_view name(FindingKind value);

/// The value of a name; nothing for a word that is not in the list.
template <typename Enum>
[[nodiscard]] std::optional<Enum> parse_name(std::string_view text);

/// Number of values, so that metrics can create every label set at start and codecs check ranges.
template <typename Enum>
[[nodiscard]] std::size_t count_of();

// clang-format off
template <> std::optional<TaskKind> parse_name<TaskKind>(std::string_view text);
template <> std::optional<Side> parse_name<Side>(std::string_view text);
template <> std::optional<CheckKind> parse_name<CheckKind>(std::string_view text);
template <> std::optional<Stream> parse_name<Stream>(std::string_view text);
template <> std::optional<Outcome> parse_name<Outcome>(std::string_view text);
template <> std::optional<Verdict> parse_name<Verdict>(std::string_view text);
template <> std::optional<Fault> parse_name<Fault>(std::string_view text);
template <> std::optional<Reason> parse_name<Reason>(std::string_view text);
template <> std::optional<FindingKind> parse_name<FindingKind>(std::string_view text);
template <> std::size_t count_of<TaskKind>();
template <> std::size_t count_of<Side>();
template <> std::size_t count_of<CheckKind>();
template <> std::size_t count_of<Stream>();
template <> std::size_t count_of<Outcome>();
template <> std::size_t count_of<Verdict>();
template <> std::size_t count_of<Fault>();
template <> std::size_t count_of<Reason>();
template <> std::size_t count_of<FindingKind>();
// clang-format on

/// The outcome class that a reason belongs to (inconclusive or refused).
[[nodiscard]] Outcome class_of(Reason reason);
/// Whose fault a reason is by itself.
[[nodiscard]] Fault fault_of(Reason reason);
/// True for findings that make a check failing; false for remarks, derived and resource kinds.
[[nodiscard]] bool is_conclusive(FindingKind kind);
/// The reason to report when both apply.
[[nodiscard]] Reason stronger_reason(Reason a, Reason b);
/// The outcome of a plain validation as a verdict.
[[nodiscard]] Verdict verdict_of(Outcome outcome);

}  // namespace cupel
