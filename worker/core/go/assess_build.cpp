// list, build, vet and custom checks.
#include "common/core/limits.hpp"
#include "worker/core/go/assess.hpp"
#include "worker/core/go/command_error.hpp"
#include "worker/core/go/keys.hpp"
#include "worker/core/go/text.hpp"

#include <algorithm>

namespace cupel::worker::go {
namespace {

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// The package that a load error is about: as it says, by its file, by its directory, by what go
/// list said of its packages.
std::string package_of(const Surroundings& around, const TextProblem& problem) {
  const PackageList& list = around.list;
  if (!problem.package.empty()) return problem.package;
  const std::string_view dir = around.context.unit.dir;
  if (!problem.file.empty()) {
    if (const auto* owner = list.owner_of(source_path(problem.file, dir)))
      return owner->import_path;
  }
  const std::string_view line = first_line(problem.message);
  const auto in = line.rfind(" in /src/");
  if (line.starts_with("found packages ") && in != std::string_view::npos) {
    if (const auto* owner = list.in_dir(source_path(line.substr(in + 4), dir))) {
      return owner->import_path;
    }
  }
  const std::string_view said = problem.file.empty() ? line : split_position(line).rest;
  for (const std::size_t at : list.broken) {
    const ListedPackage& listed = list.packages[at];
    if (!said.empty() && contains(listed.error, said)) return listed.import_path;
  }
  return {};
}

void no_packages(const Surroundings& around, std::string_view line, Findings& findings) {
  for (const ListedPackage& listed : around.list.packages) {
    if (!listed.dep_only && listed.uses_cgo && !around.context.cgo_available) {
      findings.obstacle(FindingKind::environment, Reason::cgo_unavailable, listed.import_path, {},
                        "every Go file needs cgo, and the image has no C compiler");
      return;
    }
  }
  findings.note({}, std::string(line));
  findings.apply(Reason::no_packages);
}

}  // namespace

void add_build_problems(const Surroundings& around, const BuildText& text, Findings& findings) {
  for (const TextProblem& problem : text.problems) {
    switch (problem.kind) {
      case TextProblem::Kind::command: findings.command_problem(problem.message); break;
      case TextProblem::Kind::compile:
        findings.broken_package(FindingKind::build_failure,
                                around.list.tested(canonical_package(problem.package)),
                                problem.message);
        break;
      case TextProblem::Kind::load:
      case TextProblem::Kind::vet: {
        const std::string package = package_of(around, problem);
        const auto known = classify_command_error(problem.message);
        if (known && known->reason == Reason::no_go_mod) {
          findings.command_problem(problem.message);
        } else {
          findings.broken_package(FindingKind::setup_failure, package, problem.message);
        }
        break;
      }
    }
  }
}

Assessment assess_list(const Surroundings& around) {
  Assessment out;
  Findings findings(around, out);
  const BuildText text = read_build_text(around.report.err.bytes, false);
  for (const TextProblem& problem : text.problems) {
    if (problem.kind == TextProblem::Kind::command || around.report.exit_code != 0) {
      findings.command_problem(problem.message);
    }
  }
  out.packages = static_cast<std::uint32_t>(around.list.matched());
  for (const ListedPackage& listed : around.list.packages) {
    const auto known = classify_command_error(listed.error);
    if (known && known->reason == Reason::no_go_mod) findings.command_problem(listed.error);
  }
  if (out.packages == 0 && around.report.exit_code == 0) {
    no_packages(around,
                text.no_packages ? std::string_view(text.no_packages_line)
                                 : std::string_view("the patterns matched no packages"),
                findings);
  } else if (around.report.exit_code == 0 && !around.list.complete) {
    findings.apply(Reason::parse_failed);
  }
  return out;
}

Assessment assess_build(const Surroundings& around) {
  Assessment out;
  Findings findings(around, out);
  const BuildText text = read_build_text(around.report.err.bytes, false);
  add_build_problems(around, text, findings);
  if (text.no_packages) no_packages(around, text.no_packages_line, findings);
  out.packages = static_cast<std::uint32_t>(around.list.matched());
  return out;
}

Assessment assess_vet(const Surroundings& around, bool json) {
  Assessment out;
  Findings findings(around, out);
  const VetOutput vet = read_vet_output(around.report.out.bytes, around.report.err.bytes, json);
  const std::string_view dir = around.context.unit.dir;
  for (const VetFinding& found : vet.findings) {
    const std::string file = source_path(found.file, dir);
    std::string package = around.list.tested(found.package);
    if (const auto* owner = package.empty() ? around.list.owner_of(file) : nullptr) {
      package = owner->import_path;
    }
    Finding& finding = findings.add(FindingKind::vet, package, {}, found.message);
    finding.analyzer = found.analyzer;
    finding.file = file;
    finding.line = found.line;
    finding.column = found.column;
    identify(finding, around.context.unit);
  }
  add_build_problems(around, vet.text, findings);
  if (vet.text.no_packages) no_packages(around, vet.text.no_packages_line, findings);
  if (!vet.complete) findings.apply(Reason::parse_failed);
  out.packages = static_cast<std::uint32_t>(around.list.matched());
  return out;
}

}  // namespace cupel::worker::go
