/// Books of made-up runs.
#pragma once

#include "coordinator/core/compare/conclude.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cupel::coordinator::compare {

inline Finding failure(const std::string& package, const std::string& test,
                       const std::string& words = "broken") {
  Finding finding;
  finding.kind = FindingKind::test_failure;
  finding.package = package;
  finding.test = test;
  finding.message = words;
  finding.key = "test|" + package + "|" + test;
  finding.signature = "test||" + words;
  return finding;
}

inline Finding of_kind(Finding finding, FindingKind kind, const std::string& family) {
  finding.kind = kind;
  finding.key = family + "|" + finding.package + "|" + finding.test;
  return finding;
}

inline Finding vet(const std::string& file, const std::string& words) {
  Finding finding;
  finding.kind = FindingKind::vet;
  finding.check = CheckKind::vet;
  finding.package = "m/p";
  finding.analyzer = "printf";
  finding.file = file;
  finding.key = "vet|m/p|printf|" + file + "|" + words;
  finding.signature = "vet|printf|" + words;
  return finding;
}

inline TaskResult result(std::vector<Finding> findings = {}) {
  static std::uint64_t number = 0;
  TaskResult answer;
  answer.task = TaskId{++number};
  answer.outcome = findings.empty() ? Outcome::passing : Outcome::failing;
  answer.findings = std::move(findings);
  answer.evidence.image = "sha256:a";
  answer.evidence.go_version = "go1.26.1";
  answer.evidence.engine = "docker 20.10";
  answer.evidence.build_cache = "seeded:linked";
  answer.evidence.parser_version = 1;
  CheckRecord test;
  test.command = {"go", "test", "./..."};
  test.tests = 7;
  answer.checks.push_back(test);
  return answer;
}

inline TaskResult inconclusive(Reason reason) {
  TaskResult answer = result();
  answer.outcome = Outcome::inconclusive;
  answer.reason = reason;
  return answer;
}

inline Book book(const std::vector<TaskResult>& before, const std::vector<TaskResult>& after) {
  Book out;
  for (const TaskResult& one : before) out.before.push_back(run_of(out, one));
  for (const TaskResult& one : after) out.after.push_back(run_of(out, one));
  return out;
}

inline ChangeNote change(std::vector<ModuleMove> moved = {}) {
  ChangeNote note;
  note.patch = sha256("patch");
  note.patch_bytes = 10;
  note.moved = std::move(moved);
  return note;
}

}  // namespace cupel::coordinator::compare
