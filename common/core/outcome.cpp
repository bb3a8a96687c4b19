#include "common/core/outcome.hpp"

#include "common/core/names.hpp"

#include <algorithm>

namespace cupel {
namespace {

constexpr auto kTaskKindNames = names::list("acquire", "mutate", "execute", "tool");

constexpr auto kSideNames = names::list("before", "after");

constexpr auto kCheckKindNames = names::list("list", "build", "vet", "test", "scan", "custom");

constexpr auto kStreamNames = names::list("out", "err");

constexpr auto kOutcomeNames =
    names::list("passing", "failing", "inconclusive", "refused", "cancelled");

constexpr auto kVerdictNames =
    names::list("passing", "failing", "inconclusive", "refused", "cancelled", "compatible",
                "regressed", "fixed", "broken_before", "changed_failure", "flaky", "not_affected");

constexpr auto kFaultNames =
    names::list("none", "repository", "change", "dependency", "fleet", "upstream", "unknown");

constexpr auto kReasonNames = names::list(
    "none", "aborted", "acquire_incomplete", "cgo_unavailable", "end_marker_missing",
    "exit_mismatch", "incomplete_stream", "io_incomplete", "lfs_pointer", "module_not_found",
    "no_packages", "output_truncated", "parse_failed", "race_unavailable", "resource_disk",
    "resource_memory", "resource_pids", "sandbox_noexec_tmp", "scan_failed",
    "submodule_not_fetched", "timeout", "unexplained_exit", "vulndb_corrupt", "vulndb_unavailable",
    "engine", "image_missing", "lease_lost", "upstream", "alternates_outside", "bad_go_mod",
    "bad_go_sum", "bad_go_work", "bad_version_query", "checksum_mismatch", "empty_repository",
    "gitdir_outside", "hostile_git_config", "malformed_tree", "manifest_is_symlink",
    "module_path_mismatch", "no_go_mod", "path_too_long", "replace_outside_repo",
    "requires_newer_toolchain", "snapshot_too_large", "submodule_untrusted_url",
    "unsupported_object_format", "unsupported_toolchain", "upgrade_not_applicable",
    "vendored_change_unsupported", "work_outside_repo", "workspace_change_unsupported",
    "repository_not_found", "ref_not_found", "source_not_allowed");

constexpr auto kFindingKindNames = names::list(
    "build_failure", "build_failure_dependent", "setup_failure", "vet", "test_failure",
    "test_failure_derived", "test_timeout", "test_unfinished", "package_failure",
    "package_unfinished", "io_incomplete", "resource_limit", "environment", "limit",
    "manifest_error", "acquire_error", "upgrade_error", "scan_error", "vuln", "security", "note");

// The order in which reasons win (design section 4): the fleet's own, resources, time, output,
// stream.
constexpr std::array kStrength = {
    Reason::engine,
    Reason::image_missing,
    Reason::lease_lost,
    Reason::upstream,
    Reason::resource_memory,
    Reason::resource_disk,
    Reason::resource_pids,
    Reason::timeout,
    Reason::output_truncated,
    Reason::aborted,
    Reason::incomplete_stream,
    Reason::io_incomplete,
    Reason::end_marker_missing,
    Reason::exit_mismatch,
    Reason::parse_failed,
    Reason::unexplained_exit,
};

}  // namespace

std::string_view name(TaskKind value) {
  return names::at(kTaskKindNames, value);
}
std::string_view name(Side value) {
  return names::at(kSideNames, value);
}
std::string_view name(CheckKind value) {
  return names::at(kCheckKindNames, value);
}
std::string_view name(Stream value) {
  return names::at(kStreamNames, value);
}
std::string_view name(Outcome value) {
  return names::at(kOutcomeNames, value);
}
std::string_view name(Verdict value) {
  return names::at(kVerdictNames, value);
}
std::string_view name(Fault value) {
  return names::at(kFaultNames, value);
}
std::string_view name(Reason value) {
  return names::at(kReasonNames, value);
}
std::string_view name(FindingKind value) {
  return names::at(kFindingKindNames, value);
}

template <>
std::optional<TaskKind> parse_name<TaskKind>(std::string_view text) {
  return names::find<TaskKind>(kTaskKindNames, text);
}
template <>
std::size_t count_of<TaskKind>() {
  return kTaskKindNames.size();
}
template <>
std::optional<Side> parse_name<Side>(std::string_view text) {
  return names::find<Side>(kSideNames, text);
}
template <>
std::size_t count_of<Side>() {
  return kSideNames.size();
}
template <>
std::optional<CheckKind> parse_name<CheckKind>(std::string_view text) {
  return names::find<CheckKind>(kCheckKindNames, text);
}
template <>
std::size_t count_of<CheckKind>() {
  return kCheckKindNames.size();
}
template <>
std::optional<Stream> parse_name<Stream>(std::string_view text) {
  return names::find<Stream>(kStreamNames, text);
}
template <>
std::size_t count_of<Stream>() {
  return kStreamNames.size();
}
template <>
std::optional<Outcome> parse_name<Outcome>(std::string_view text) {
  return names::find<Outcome>(kOutcomeNames, text);
}
template <>
std::size_t count_of<Outcome>() {
  return kOutcomeNames.size();
}
template <>
std::optional<Verdict> parse_name<Verdict>(std::string_view text) {
  return names::find<Verdict>(kVerdictNames, text);
}
template <>
std::size_t count_of<Verdict>() {
  return kVerdictNames.size();
}
template <>
std::optional<Fault> parse_name<Fault>(std::string_view text) {
  return names::find<Fault>(kFaultNames, text);
}
template <>
std::size_t count_of<Fault>() {
  return kFaultNames.size();
}
template <>
std::optional<Reason> parse_name<Reason>(std::string_view text) {
  return names::find<Reason>(kReasonNames, text);
}
template <>
std::size_t count_of<Reason>() {
  return kReasonNames.size();
}
template <>
std::optional<FindingKind> parse_name<FindingKind>(std::string_view text) {
  return names::find<FindingKind>(kFindingKindNames, text);
}
template <>
std::size_t count_of<FindingKind>() {
  return kFindingKindNames.size();
}

Outcome class_of(Reason reason) {
  if (reason == Reason::none) return Outcome::passing;
  return reason >= Reason::alternates_outside ? Outcome::refused : Outcome::inconclusive;
}

Fault fault_of(Reason reason) {
  switch (reason) {
    case Reason::none: return Fault::none;
    case Reason::engine:
    case Reason::image_missing:
    case Reason::lease_lost:
    case Reason::end_marker_missing:
    case Reason::exit_mismatch: return Fault::fleet;
    case Reason::upstream:
    case Reason::vulndb_unavailable:
    case Reason::vulndb_corrupt:
    case Reason::module_not_found: return Fault::upstream;
    case Reason::parse_failed:
    case Reason::unexplained_exit: return Fault::unknown;
    default: return Fault::repository;
  }
}

bool is_conclusive(FindingKind kind) {
  switch (kind) {
    case FindingKind::build_failure:
    case FindingKind::setup_failure:
    case FindingKind::vet:
    case FindingKind::test_failure:
    case FindingKind::test_timeout:
    case FindingKind::package_failure:
    case FindingKind::vuln: return true;
    default: return false;
  }
}

Reason stronger_reason(Reason a, Reason b) {
  if (a == Reason::none) return b;
  if (b == Reason::none) return a;
  const auto rank = [](Reason reason) {
    return std::ranges::find(kStrength, reason) - kStrength.begin();
  };
  return rank(b) < rank(a) ? b : a;
}

Verdict verdict_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::passing: return Verdict::passing;
    case Outcome::failing: return Verdict::failing;
    case Outcome::inconclusive: return Verdict::inconclusive;
    case Outcome::refused: return Verdict::refused;
    case Outcome::cancelled: return Verdict::cancelled;
  }
  return Verdict::inconclusive;
}

}  // namespace cupel
