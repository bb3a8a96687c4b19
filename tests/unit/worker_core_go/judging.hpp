/// Small runs for the tests of the judge: one package "m/p" with one list.
#pragma once

#include "tests/unit/worker_core_go/recording.hpp"
#include "worker/core/go/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::worker::judging {

using recorded::whole_report;

inline const std::string kList =
    R"({"Dir":"/src/p","ImportPath":"m/p","TestGoFiles":["p_test.go"]})"
    "\n";
inline const std::string kPass = R"({"Action":"start","Package":"m/p"}
{"Action":"run","Package":"m/p","Test":"T"}
{"Action":"pass","Package":"m/p","Test":"T"}
{"Action":"pass","Package":"m/p"}
)";
inline const std::string kFail = R"({"Action":"start","Package":"m/p"}
{"Action":"run","Package":"m/p","Test":"T"}
{"Action":"output","Package":"m/p","Test":"T","Output":"    p_test.go:3: red\n"}
{"Action":"fail","Package":"m/p","Test":"T"}
{"Action":"fail","Package":"m/p"}
)";

inline CheckRun check(CheckKind kind, RunReport report) {
  CheckRun run{.check = kind, .name = {}, .command = {}, .report = std::move(report)};
  if (kind == CheckKind::vet) run.command = {"go", "vet", "-json"};
  return run;
}

inline JudgeContext context() {
  JudgeContext out;
  out.unit.dir = ".";
  out.unit.module_path = "m";
  return out;
}

inline std::vector<CheckRun> runs_with(RunReport test) {
  std::vector<CheckRun> runs;
  runs.push_back(check(CheckKind::list, whole_report(0, kList)));
  runs.push_back(check(CheckKind::build, whole_report(0, "")));
  runs.push_back(check(CheckKind::vet, whole_report(0, "{}\n")));
  runs.push_back(check(CheckKind::test, std::move(test)));
  return runs;
}

inline Judgement judged(RunReport test) {
  return judge(context(), runs_with(std::move(test)));
}

inline const Finding* find(const Judgement& judgement, FindingKind kind,
                           std::string_view test = {}) {
  const auto found = std::ranges::find_if(judgement.findings, [&](const Finding& finding) {
    return finding.kind == kind && (test.empty() || finding.test == test);
  });
  return found == judgement.findings.end() ? nullptr : &*found;
}

inline bool has_note(const Judgement& judgement, std::string_view word) {
  return std::ranges::any_of(judgement.findings, [&](const Finding& finding) {
    return finding.kind == FindingKind::note && finding.message.starts_with(word);
  });
}

#define EXPECT_ANSWER(judgement, wanted_outcome, wanted_reason)                               \
  EXPECT_EQ(name((judgement).outcome), name(Outcome::wanted_outcome)) << (judgement).message; \
  EXPECT_EQ(name((judgement).reason), name(Reason::wanted_reason)) << (judgement).message

}  // namespace cupel::worker::judging
