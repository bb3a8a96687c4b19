#include "common/core/change.hpp"

#include "common/core/names.hpp"
#include "common/core/scan.hpp"
#include "common/core/settings.hpp"

namespace cupel {
namespace {

constexpr auto kSelects = names::list("named", "smallest", "vulnerable");
constexpr auto kNotAffected =
    names::list("none", "already_at_version", "excluded", "major_available", "module_absent",
                "not_used", "replaced_no_effect", "tool_only");
constexpr auto kGates = names::list(
    "module_path_changed", "go_directive_changed", "toolchain_changed", "replace_changed",
    "exclude_changed", "retract_changed", "tool_changed", "godebug_changed", "ignore_changed",
    "target_not_set", "version_decreased", "increase_outside_closure", "direct_dependency_added",
    "direct_dependency_removed", "direct_became_indirect", "not_tidy", "tidy_failed",
    "target_not_in_build_list", "outside_closure", "gosum_unexplained", "protected_file_changed",
    "scope_exceeded", "verify_failed", "candidate_tree_mismatch", "advisory_not_resolved",
    "advisory_introduced", "scan_not_bound", "scan_inconclusive");
constexpr auto kLevels = names::list("module", "package", "symbol");
constexpr auto kBuildCaches = names::list("seeded", "empty", "dependencies");
constexpr auto kParsers = names::list("exit_code", "lines", "sarif");

}  // namespace

std::string_view name(Select value) {
  return names::at(kSelects, value);
}
std::string_view name(NotAffected value) {
  return names::at(kNotAffected, value);
}
std::string_view name(Gate value) {
  return names::at(kGates, value);
}
std::string_view name(VulnLevel value) {
  return names::at(kLevels, value);
}
std::string_view name(CheckParser value) {
  return names::at(kParsers, value);
}
std::string_view name(BuildCache value) {
  return names::at(kBuildCaches, value);
}

template <>
std::optional<Select> parse_name<Select>(std::string_view text) {
  return names::find<Select>(kSelects, text);
}
template <>
std::optional<NotAffected> parse_name<NotAffected>(std::string_view text) {
  return names::find<NotAffected>(kNotAffected, text);
}
template <>
std::optional<Gate> parse_name<Gate>(std::string_view text) {
  return names::find<Gate>(kGates, text);
}
template <>
std::optional<VulnLevel> parse_name<VulnLevel>(std::string_view text) {
  return names::find<VulnLevel>(kLevels, text);
}
template <>
std::optional<CheckParser> parse_name<CheckParser>(std::string_view text) {
  return names::find<CheckParser>(kParsers, text);
}
template <>
std::optional<BuildCache> parse_name<BuildCache>(std::string_view text) {
  return names::find<BuildCache>(kBuildCaches, text);
}
template <>
std::size_t count_of<Select>() {
  return kSelects.size();
}
template <>
std::size_t count_of<NotAffected>() {
  return kNotAffected.size();
}
template <>
std::size_t count_of<Gate>() {
  return kGates.size();
}
template <>
std::size_t count_of<VulnLevel>() {
  return kLevels.size();
}
template <>
std::size_t count_of<CheckParser>() {
  return kParsers.size();
}
template <>
std::size_t count_of<BuildCache>() {
  return kBuildCaches.size();
}

std::string_view kind_of(const Change& change) {
  constexpr std::array<std::string_view, 5> kKinds = {"none", "upgrade", "go", "replace", "patch"};
  return kKinds.at(change.index());
}

}  // namespace cupel
