#include "worker/core/change/change_words.hpp"

#include "common/core/error.hpp"
#include "worker/core/source/go_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cupel::worker::change {
namespace {

constexpr std::size_t kWarningsMax = 20;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Reasons that say the same in every run of the go command.
bool keeps_its_reason(Reason reason) {
  constexpr std::array kKept = {Reason::checksum_mismatch, Reason::resource_disk,
                                Reason::requires_newer_toolchain, Reason::unsupported_toolchain,
                                Reason::upstream};
  return std::ranges::find(kKept, reason) != kKept.end();
}

/// A change is about the unit, not about a package of it: the words name the module.
SourceRefusal about_the_unit(SourceRefusal why) {
  for (Finding& finding : why.findings) finding.package.clear();
  return why;
}

SourceRefusal as_upgrade_error(SourceRefusal why, Reason reason) {
  why.reason = reason;
  for (Finding& finding : why.findings) finding.kind = FindingKind::upgrade_error;
  return why;
}

/// The complaint is about the version that was asked for, not about something that it needs.
bool about_a_target(std::string_view err, const std::vector<ModuleTarget>& targets) {
  const auto lines = lines_of(err);
  return std::ranges::any_of(targets, [&](const ModuleTarget& target) {
    const std::string start = "go: " + target.module + '@' + target.version + ": ";
    return std::ranges::any_of(lines,
                               [&](std::string_view line) { return line.starts_with(start); });
  });
}

/// "... module M@latest found (v1.1.0), but does not contain package P", "no required module
/// provides package P", "cannot find module providing package P": the packages P.
std::vector<std::string> missing_packages(std::string_view err) {
  std::vector<std::string> packages;
  constexpr std::array<std::string_view, 3> kWords = {"does not contain package ",
                                                      "no required module provides package ",
                                                      "cannot find module providing package "};
  for (const std::string_view word : kWords) {
    for (auto at = err.find(word); at != std::string_view::npos; at = err.find(word, at + 1)) {
      const auto from = at + word.size();
      const auto to = std::min(err.find_first_of(" \t\n;:,)", from), err.size());
      packages.emplace_back(err.substr(from, to - from));
    }
  }
  return packages;
}

bool is_in_module(std::string_view package, std::string_view module) {
  return package == module ||
         (package.starts_with(module) && package.substr(module.size()).starts_with('/'));
}

}  // namespace

SourceRefusal judge_get_failure(std::string_view err, const std::vector<ModuleTarget>& targets) {
  SourceRefusal why = about_the_unit(judge_go_failure(err, {}));
  if (keeps_its_reason(why.reason)) return why;
  const bool no_such_version = why.reason == Reason::module_not_found ||
                               why.reason == Reason::bad_version_query ||
                               has(err, "invalid version");
  if (no_such_version && about_a_target(err, targets)) {
    return as_upgrade_error(std::move(why), Reason::bad_version_query);
  }
  return as_upgrade_error(std::move(why), Reason::upgrade_not_applicable);
}

TidyFailure judge_tidy_failure(std::string_view err, const std::vector<std::string>& moved) {
  TidyFailure failure;
  failure.refusal = about_the_unit(judge_go_failure(err, {}));
  failure.words =
      capped_detail(failure.refusal.findings.empty() ? failure.refusal.message
                                                     : failure.refusal.findings.front().message);
  if (keeps_its_reason(failure.refusal.reason)) {
    failure.refused = true;
    return failure;
  }
  const auto packages = missing_packages(err);
  const bool lost = std::ranges::any_of(packages, [&](const std::string& package) {
    return std::ranges::any_of(
        moved, [&](const std::string& module) { return is_in_module(package, module); });
  });
  if (lost) {
    failure.refused = true;
    failure.refusal = as_upgrade_error(std::move(failure.refusal), Reason::upgrade_not_applicable);
  }
  return failure;
}

std::vector<std::string> warnings_of(std::string_view err) {
  std::vector<std::string> warnings;
  for (std::string_view line : lines_of(err)) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool told = has(line, "retracted by module author") || has(line, " is deprecated");
    if (!told || warnings.size() >= kWarningsMax) continue;
    for (const std::string_view start : {"go: ", "warning: "}) {
      if (line.starts_with(start)) line.remove_prefix(start.size());
    }
    warnings.push_back(capped_detail(line));
  }
  return warnings;
}

std::string required_go(std::string_view text) {
  constexpr std::string_view kWords = "requires go >= ";
  const auto at = text.find(kWords);
  if (at == std::string_view::npos) return {};
  const auto from = at + kWords.size();
  auto to = from;
  while (to < text.size() && text[to] != ' ' && text[to] != '\n' && text[to] != ')') ++to;
  return std::string(text.substr(from, to - from));
}

bool says_excluded(std::string_view err) {
  return has(err, ": excluded by go.mod");
}

}  // namespace cupel::worker::change
