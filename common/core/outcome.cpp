#include "common/core/outcome.hpp"

#include <algorithm>
#include <span>

namespace cupel {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array kTaskKindNames = {
    std::string_view("acquire"), std::string_view("mutate"), std::string_view("execute"),
    std::string_view("tool"),
};

constexpr std::array kSideNames = {
    std::string_view("before"), std::string_view("after"),
};

constexpr std::array kCheckKindNames = {
    std::string_view("list"), std::string_view("build"), std::string_view("vet"),
    std::string_view("test"), std::string_view("scan"), std::string_view("custom"),
};

constexpr std::array kStreamNames = {
    std::string_view("out"), std::string_view("err"),
};

constexpr std::array kOutcomeNames = {
    std::string_view("passing"), std::string_view("failing"), std::string_view("inconclusive"),
    std::string_view("refused"), std::string_view("cancelled"),
};

constexpr std::array kVerdictNames = {
    std::string_view("passing"), std::string_view("failing"), std::string_view("inconclusive"),
    std::string_view("refused"), std::string_view("cancelled"), std::string_view("compatible"),
    std::string_view("regressed"), std::string_view("fixed"), std::string_view("broken_before"),
    std::string_view("changed_failure"), std::string_view("flaky"),
    std::string_view("not_affected"),
};

constexpr std::array kFaultNames = {
    std::string_view("none"), std::string_view("repository"), std::string_view("change"),
    std::string_view("dependency"), std::string_view("fleet"), std::string_view("upstream"),
    std::string_view("unknown"),
};

constexpr std::array kReasonNames = {
    std::string_view("none"), std::string_view("aborted"), std::string_view("acquire_incomplete"),
    std::string_view("cgo_unavailable"), std::string_view("end_marker_missing"),
    std::string_view("exit_mismatch"), std::string_view("incomplete_stream"),
    std::string_view("io_incomplete"), std::string_view("lfs_pointer"),
    std::string_view("module_not_found"), std::string_view("no_packages"),
    std::string_view("output_truncated"), std::string_view("parse_failed"),
    std::string_view("race_unavailable"), std::string_view("resource_disk"),
    std::string_view("resource_memory"), std::string_view("resource_pids"),
    std::string_view("sandbox_noexec_tmp"), std::string_view("scan_failed"),
    std::string_view("submodule_not_fetched"), std::string_view("timeout"),
    std::string_view("unexplained_exit"), std::string_view("vulndb_corrupt"),
    std::string_view("vulndb_unavailable"), std::string_view("engine"),
    std::string_view("image_missing"), std::string_view("lease_lost"),
    std::string_view("upstream"), std::string_view("alternates_outside"),
    std::string_view("bad_go_mod"), std::string_view("bad_go_sum"),
    std::string_view("bad_go_work"), std::string_view("bad_version_query"),
    std::string_view("checksum_mismatch"), std::string_view("empty_repository"),
    std::string_view("gitdir_outside"), std::string_view("hostile_git_config"),
    std::string_view("malformed_tree"), std::string_view("manifest_is_symlink"),
    std::string_view("module_path_mismatch"), std::string_view("no_go_mod"),
    std::string_view("path_too_long"), std::string_view("replace_outside_repo"),
    std::string_view("requires_newer_toolchain"), std::string_view("snapshot_too_large"),
    std::string_view("submodule_untrusted_url"), std::string_view("unsupported_object_format"),
    std::string_view("unsupported_toolchain"), std::string_view("upgrade_not_applicable"),
    std::string_view("vendored_change_unsupported"), std::string_view("work_outside_repo"),
    std::string_view("workspace_change_unsupported"), std::string_view("repository_not_found"),
    std::string_view("ref_not_found"), std::string_view("source_not_allowed"),
};

constexpr std::array kFindingKindNames = {
    std::string_view("build_failure"), std::string_view("build_failure_dependent"),
    std::string_view("setup_failure"), std::string_view("vet"), std::string_view("test_failure"),
    std::string_view("test_failure_derived"), std::string_view("test_timeout"),
    std::string_view("test_unfinished"), std::string_view("package_failure"),
    std::string_view("package_unfinished"), std::string_view("io_incomplete"),
    std::string_view("resource_limit"), std::string_view("environment"),
    std::string_view("limit"), std::string_view("manifest_error"),
    std::string_view("acquire_error"), std::string_view("upgrade_error"),
    std::string_view("scan_error"), std::string_view("vuln"), std::string_view("security"),
    std::string_view("note"),
};

template <typename Enum>
std::string_view at(Names names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : std::string_view("unknown");
}

template <typename Enum>
std::optional<Enum> find(Names names, std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// The order in which reasons win (design section 4): the fleet's own, resources, time, output, stream.
constexpr std::array kStrength = {
    Reason::engine,           Reason::image_missing,   Reason::lease_lost,
    Reason::upstream,         Reason::resource_memory, Reason::resource_disk,
    Reason::resource_pids,    Reason::timeout,         Reason::output_truncated,
    Reason::aborted,          Reason::incomplete_stream, Reason::io_incomplete,
    Reason::end_marker_missing, Reason::exit_mismatch, Reason::parse_failed,
    Reason::unexplained_exit,
};

}  // namespace

std::string_view name(TaskKind value) { return at(kTaskKindNames, value); }
std::string_view name(Side value) { return at(kSideNames, value); }
std::string_view name(CheckKind value) { return at(kCheckKindNames, value); }
std::string_view name(Stream value) { return at(kStreamNames, value); }
std::string_view name(Outcome value) { return at(kOutcomeNames, value); }
std::string_view name(Verdict value) { return at(kVerdictNames, value); }
std::string_view name(Fault value) { return at(kFaultNames, value); }
std::string_view name(Reason value) { return at(kReasonNames, value); }
std::string_view name(FindingKind value) { return at(kFindingKindNames, value); }

template <>
std::optional<TaskKind> parse_name<TaskKind>(std::string_view text) {
  return find<TaskKind>(kTaskKindNames, text);
}
template <>
std::size_t count_of<TaskKind>() {
  return kTaskKindNames.size();
}
template <>
std::optional<Side> parse_name<Side>(std::string_view text) {
  return find<Side>(kSideNames, text);
}
template <>
std::size_t count_of<Side>() {
  return kSideNames.size();
}
template <>
std::optional<CheckKind> parse_name<CheckKind>(std::string_view text) {
  return find<CheckKind>(kCheckKindNames, text);
}
template <>
std::size_t count_of<CheckKind>() {
  return kCheckKindNames.size();
}
template <>
std::optional<Stream> parse_name<Stream>(std::string_view text) {
  return find<Stream>(kStreamNames, text);
}
template <>
std::size_t count_of<Stream>() {
  return kStreamNames.size();
}
template <>
std::optional<Outcome> parse_name<Outcome>(std::string_view text) {
  return find<Outcome>(kOutcomeNames, text);
}
template <>
std::size_t count_of<Outcome>() {
  return kOutcomeNames.size();
}
template <>
std::optional<Verdict> parse_name<Verdict>(std::string_view text) {
  return find<Verdict>(kVerdictNames, text);
}
template <>
std::size_t count_of<Verdict>() {
  return kVerdictNames.size();
}
template <>
std::optional<Fault> parse_name<Fault>(std::string_view text) {
  return find<Fault>(kFaultNames, text);
}
template <>
std::size_t count_of<Fault>() {
  return kFaultNames.size();
}
template <>
std::optional<Reason> parse_name<Reason>(std::string_view text) {
  return find<Reason>(kReasonNames, text);
}
template <>
std::size_t count_of<Reason>() {
  return kReasonNames.size();
}
template <>
std::optional<FindingKind> parse_name<FindingKind>(std::string_view text) {
  return find<FindingKind>(kFindingKindNames, text);
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
