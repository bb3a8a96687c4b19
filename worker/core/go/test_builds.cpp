#include "worker/core/go/test_builds.hpp"

#include "common/core/limits.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

std::string section_for(const BuildRecord& build, std::string_view package) {
  std::string own;
  std::string all;
  for (const BuildSection& section : build.sections) {
    all += section.text;
    if (canonical_package(section.package) == package) own += section.text;
  }
  std::string message = clean(own.empty() ? all : own, kMessageBytesMax);
  while (message.ends_with('\n')) message.pop_back();
  return message;
}

/// cgo and the assembler speak under vet's header, too, when vet needs what they make; their text
/// has lines without a position: what they quote, what they give up.
bool is_of_vet(const BuildSection& section) {
  return section.vet && std::ranges::all_of(lines_of(section.text), [](std::string_view line) {
           return trim(line).empty() || line.starts_with("vet: ") || split_position(line).line != 0;
         });
}

}  // namespace

std::string TestBuilds::canonical(std::string_view import_path) const {
  // A package may really be called "x.test".
  if (around_.list.find(import_path) != nullptr) return std::string(import_path);
  return around_.list.tested(canonical_package(import_path));
}

void TestBuilds::broken(const PackageRecord& package) {
  const std::string culprit =
      package.failed_build.empty() ? std::string{} : canonical(package.failed_build);
  if (!package.failed_build.empty()) referenced_.insert(package.failed_build);
  const BuildRecord* build = stream_.build(package.failed_build);
  if (package.says_setup_failed) {
    std::string message = build != nullptr ? section_for(*build, package.name) : std::string{};
    if (message.empty()) message = stderr_text(package.name);
    if (message.empty()) message = "[setup failed]";
    findings_.broken_package(FindingKind::setup_failure, package.name, std::move(message),
                             package.failed_build);
  } else if (build == nullptr && package.failed_build.empty()) {
    broken_by_text(package);
  } else if (culprit == package.name) {
    own_failure(package.name, build);
  } else {
    findings_.dependent(package.name, culprit);
    culprits_.insert(culprit);
    blamed_builds_.insert(package.failed_build);
  }
}

void TestBuilds::own_failure(const std::string& package, const BuildRecord* build) {
  reported_.insert(package);
  std::string message;
  if (build != nullptr) {
    for (const BuildSection& section : build->sections) {
      message += section.text;
      if (is_of_vet(section)) vet_inside_test(package, section);
    }
  }
  message = clean(message, kMessageBytesMax);
  while (message.ends_with('\n')) message.pop_back();
  if (message.empty()) message = "[build failed]";
  findings_.broken_package(FindingKind::build_failure, package, std::move(message));
}

/// Up to Go 1.23 the reason is text on stderr.
void TestBuilds::broken_by_text(const PackageRecord& package) {
  const auto about = [&](const ListedPackage& listed) {
    return !stderr_text(listed.import_path).empty();
  };
  std::string message = stderr_text(package.name);
  if (!message.empty()) {
    findings_.broken_package(FindingKind::build_failure, package.name, std::move(message));
    reported_.insert(package.name);
  } else if (const auto* culprit = around_.list.nearest_import(package.name, about)) {
    findings_.dependent(package.name, culprit->import_path);
    culprits_.insert(culprit->import_path);
  } else {
    findings_.broken_package(FindingKind::build_failure, package.name, "[build failed]");
    reported_.insert(package.name);
  }
}

std::string TestBuilds::stderr_text(std::string_view package) const {
  std::string text;
  for (const TextProblem& problem : text_.problems) {
    if (problem.kind == TextProblem::Kind::command) continue;
    if (canonical(problem.package) != package) continue;
    if (!text.empty()) text += '\n';
    text += problem.message;
  }
  return std::string(cut(text, kMessageBytesMax));
}

/// Rule B3: vet's findings are findings of vet, whichever command ran it; the judge drops those
/// that the vet check has as well.
void TestBuilds::vet_inside_test(const std::string& package, const BuildSection& section) {
  for (const std::string_view line : lines_of(section.text)) {
    if (line.starts_with("vet: ")) continue;
    const Position position = split_position(line);
    if (position.line == 0) continue;
    findings_.add(FindingKind::vet, package, {}, clean(position.rest, kMessageBytesMax));
    Finding& finding = out_.findings.back();
    finding.file = source_path(position.file, around_.context.unit.dir);
    finding.line = position.line;
    finding.column = position.column;
    identify(finding, around_.context.unit);
  }
}

/// Failed builds that no package names as its own: of dependencies, and where the stream broke
/// off.
void TestBuilds::unreferenced() {
  for (const BuildRecord& build : stream_.builds) {
    if (!build.failed) continue;
    const bool blamed = blamed_builds_.contains(build.import_path);
    if (referenced_.contains(build.import_path) && !blamed) continue;
    const std::string package = canonical(build.import_path);
    if (!reported_.contains(package)) own_failure(package, &build);
  }
  for (const std::string& culprit : culprits_) {
    if (reported_.contains(culprit) || stream_.package(culprit) != nullptr) continue;
    std::string message = stderr_text(culprit);
    if (message.empty()) message = "[build failed]";
    reported_.insert(culprit);
    findings_.broken_package(FindingKind::build_failure, culprit, std::move(message));
  }
}

}  // namespace cupel::worker::go
