#include "tests/unit/worker_core_go/judging.hpp"

namespace cupel::worker {
namespace {

using namespace judging;

// ---- what proves a pass
// --------------------------------------------------------------------------

TEST(Judge, PassesAWholeRunInWhichEveryListedPackageEnded) {
  const Judgement judgement = judged(whole_report(0, kPass));
  EXPECT_ANSWER(judgement, passing, none);
  EXPECT_EQ(judgement.checks[3].tests, 1U);
  EXPECT_EQ(judgement.message, "");
}

TEST(Judge, NeverPassesWithoutOneOfTheProofs) {
  struct Row {
    const char* what;
    void (*spoil)(RunReport&);
    Reason reason;
  };
  const Row rows[] = {
      {"no start", [](RunReport& r) { r.started = false; }, Reason::end_marker_missing},
      {"no end", [](RunReport& r) { r.end_marker = false; }, Reason::end_marker_missing},
      {"codes differ", [](RunReport& r) { r.engine_exit_code = 1; }, Reason::exit_mismatch},
      {"stdout cut", [](RunReport& r) { r.out.truncated = true; }, Reason::output_truncated},
      {"stderr cut", [](RunReport& r) { r.err.truncated = true; }, Reason::output_truncated},
      {"stdout short", [](RunReport& r) { r.out.complete = false; }, Reason::incomplete_stream},
      {"a child held the pipe",
       [](RunReport& r) {
         r.out.complete = false;
         r.leftover_processes = true;
       },
       Reason::io_incomplete},
      {"our limit", [](RunReport& r) { r.ended_by = EndedBy::check_limit; }, Reason::timeout},
      {"backstop", [](RunReport& r) { r.ended_by = EndedBy::wrapper_limit; }, Reason::timeout},
      {"disk", [](RunReport& r) { r.ended_by = EndedBy::watcher_disk; }, Reason::resource_disk},
      {"mount", [](RunReport& r) { r.mount_budget_hit = true; }, Reason::resource_disk},
      {"exit code", [](RunReport& r) { r.exit_code = r.engine_exit_code = 1; },
       Reason::unexplained_exit},
      {"signal",
       [](RunReport& r) {
         r.exit_code = r.engine_exit_code = 137;
         r.signal = 9;
       },
       Reason::aborted},
      {"memory",
       [](RunReport& r) {
         r.exit_code = r.engine_exit_code = 1;
         r.oom_kills = 1;
       },
       Reason::resource_memory},
      {"killed by somebody else",
       [](RunReport& r) {
         r.engine_exit_code = 137;
         r.end_marker = false;
         r.ended_by = EndedBy::engine;
         r.killed_unasked = true;
       },
       Reason::resource_memory},
      {"processes",
       [](RunReport& r) {
         r.exit_code = r.engine_exit_code = 1;
         r.pids_limit_hit = true;
       },
       Reason::resource_pids},
  };
  for (const Row& row : rows) {
    RunReport report = whole_report(0, kPass);
    row.spoil(report);
    const Judgement judgement = judged(std::move(report));
    EXPECT_EQ(name(judgement.outcome), "inconclusive") << row.what;
    EXPECT_EQ(name(judgement.reason), name(row.reason)) << row.what;
    EXPECT_NE(judgement.message, "") << row.what;
  }
}

TEST(Judge, NeverPassesWhenAListedPackageHasNoEnd) {
  auto runs = runs_with(whole_report(0, kPass));
  runs[0].report = whole_report(0, kList + R"({"Dir":"/src/q","ImportPath":"m/q"})" + "\n");
  const Judgement judgement = judge(context(), runs);
  EXPECT_ANSWER(judgement, inconclusive, incomplete_stream);
  EXPECT_TRUE(has_note(judgement, "packages_not_run"));
}

TEST(Judge, NeverPassesWithoutAList) {
  auto runs = runs_with(whole_report(0, kPass));
  runs.erase(runs.begin());
  EXPECT_EQ(judge(context(), runs).outcome, Outcome::inconclusive);
  EXPECT_EQ(judge(context(), {}).outcome, Outcome::inconclusive);
}

TEST(Judge, NeverPassesAPackageWithoutAnEnd) {
  const Judgement judgement =
      judged(whole_report(0,
                          "{\"Action\":\"start\",\"Package\":\"m/"
                          "p\"}\n{\"Action\":\"run\",\"Package\":\"m/p\",\"Test\":\"T\"}\n"));
  EXPECT_ANSWER(judgement, inconclusive, incomplete_stream);
  EXPECT_NE(find(judgement, FindingKind::package_unfinished), nullptr);
  EXPECT_NE(find(judgement, FindingKind::test_unfinished, "T"), nullptr);
}

TEST(Judge, ARunThatPassedWhileAChildDiedOfMemoryProvesNothing) {
  RunReport counted = whole_report(0, kPass);
  counted.oom_kills = 1;
  EXPECT_ANSWER(judged(std::move(counted)), inconclusive, resource_memory);
  RunReport flagged = whole_report(0, kPass);
  flagged.engine_oom_killed = true;
  EXPECT_ANSWER(judged(std::move(flagged)), inconclusive, resource_memory);
}

// ---- what proves a failure
// -----------------------------------------------------------------------

TEST(Judge, FailsWithTheFindingThatExplainsTheExitCode) {
  const Judgement judgement = judged(whole_report(1, kFail));
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_EQ(judgement.message, "test_failure m/p T: p_test.go:3: red");
  const Finding* finding = find(judgement, FindingKind::test_failure);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->file, "p_test.go");
  EXPECT_EQ(finding->line, 3);
}

TEST(Judge, ATruncatedRunIsInconclusiveWhateverItHolds) {
  RunReport report = whole_report(1, kFail);
  report.out.truncated = true;
  const Judgement judgement = judged(std::move(report));
  EXPECT_ANSWER(judgement, inconclusive, output_truncated);
  EXPECT_NE(find(judgement, FindingKind::test_failure), nullptr) << "stays as evidence";
}

TEST(Judge, AFailureInAPackageThatNeverEndedProvesNothing) {
  const std::string cut = kFail.substr(0, kFail.rfind("{\"Action\""));
  EXPECT_ANSWER(judged(whole_report(1, cut)), inconclusive, incomplete_stream);
}

TEST(Judge, AnotherCheckMayFailWhileTestsSayNothing) {
  auto runs = runs_with(whole_report(0, kPass));
  runs[3].report.ended_by = EndedBy::check_limit;
  runs[2].report = whole_report(
      0, R"({"m/p":{"assign":[{"posn":"/src/p/a.go:4:2","message":"self-assignment of x"}]}})");
  const Judgement judgement = judge(context(), runs);
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_EQ(judgement.checks[2].outcome, Outcome::failing);
  EXPECT_EQ(judgement.checks[3].reason, Reason::timeout);
}

// ---- builds
// ----------------------------------------------------------------------------------------

TEST(JudgeBuilds, BothFormsOfABuildFailureHaveOneKey) {
  const std::string ends = R"({"Action":"start","Package":"m/p"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [build failed]\n"}
)";
  const std::string json =
      R"({"ImportPath":"m/p [m/p.test]","Action":"build-output","Output":"# m/p [m/p.test]\n"}
{"ImportPath":"m/p [m/p.test]","Action":"build-output","Output":"p/p_test.go:6:17: cannot use 1\n"}
{"ImportPath":"m/p [m/p.test]","Action":"build-fail"}
)" + ends +
      R"({"Action":"fail","Package":"m/p","FailedBuild":"m/p [m/p.test]"})" + "\n";
  const std::string old = ends + R"({"Action":"fail","Package":"m/p"})" + "\n";
  const Judgement now = judged(whole_report(1, json));
  const Judgement before =
      judged(whole_report(1, old, "# m/p [m/p.test]\np/p_test.go:6:17: cannot use 1\n"));
  EXPECT_ANSWER(now, failing, none);
  EXPECT_ANSWER(before, failing, none);
  const Finding* a = find(now, FindingKind::build_failure);
  const Finding* b = find(before, FindingKind::build_failure);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(a->key, b->key);
  EXPECT_EQ(a->signature, b->signature);
  EXPECT_EQ(a->message, b->message);
}

TEST(JudgeBuilds, OfOlderGoFindTheCulpritByTheImports) {
  auto runs = runs_with(whole_report(1, R"({"Action":"start","Package":"m/p"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [build failed]\n"}
{"Action":"fail","Package":"m/p"}
)",
                                     "# m/lib\nlib/lib.go:3:23: undefined: missing\n"));
  runs[0].report = whole_report(0, R"({"Dir":"/src/lib","ImportPath":"m/lib","DepOnly":true}
{"Dir":"/src/p","ImportPath":"m/p","Imports":["m/lib"]}
)");
  const Judgement judgement = judge(context(), runs);
  EXPECT_ANSWER(judgement, failing, none);
  const Finding* dependent = find(judgement, FindingKind::build_failure_dependent);
  ASSERT_NE(dependent, nullptr);
  EXPECT_EQ(dependent->message, "FailedBuild=m/lib");
  const Finding* culprit = find(judgement, FindingKind::build_failure);
  ASSERT_NE(culprit, nullptr);
  EXPECT_EQ(culprit->package, "m/lib");
}

TEST(JudgeBuilds, ABrokenDependencyIsBlamedOnce) {
  const Judgement judgement =
      judged(whole_report(1, R"({"ImportPath":"d/x","Action":"build-output","Output":"# d/x\n"}
{"ImportPath":"d/x","Action":"build-output","Output":"x.go:1:1: undefined: y\n"}
{"ImportPath":"d/x","Action":"build-fail"}
{"Action":"start","Package":"m/p"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [build failed]\n"}
{"Action":"fail","Package":"m/p","FailedBuild":"d/x"}
)"));
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_EQ(find(judgement, FindingKind::build_failure)->package, "d/x");
  EXPECT_EQ(find(judgement, FindingKind::build_failure_dependent)->package, "m/p");
}

TEST(JudgeBuilds, TheExternalTestPackageIsThePackage) {
  const Judgement judgement = judged(whole_report(
      1,
      R"({"ImportPath":"m/p_test [m/p.test]","Action":"build-output","Output":"# m/p_test [m/p.test]\n"}
{"ImportPath":"m/p_test [m/p.test]","Action":"build-output","Output":"p/x_test.go:1:1: undefined: y\n"}
{"ImportPath":"m/p_test [m/p.test]","Action":"build-fail"}
{"Action":"start","Package":"m/p"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [build failed]\n"}
{"Action":"fail","Package":"m/p","FailedBuild":"m/p_test [m/p.test]"}
)"));
  ASSERT_NE(find(judgement, FindingKind::build_failure), nullptr);
  EXPECT_EQ(find(judgement, FindingKind::build_failure)->package, "m/p");
  EXPECT_EQ(find(judgement, FindingKind::build_failure_dependent), nullptr);
}

TEST(JudgeBuilds, ADownloadThatAcquireShouldHaveDoneIsNoFailure) {
  const auto with = [](const std::string& words) {
    return R"({"ImportPath":"d/x","Action":"build-output","Output":"# m/p\n"}
{"ImportPath":"d/x","Action":"build-output","Output":"p/a.go:5:8: )" +
           words + R"(\n"}
{"ImportPath":"d/x","Action":"build-fail"}
{"Action":"start","Package":"m/p"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [setup failed]\n"}
{"Action":"fail","Package":"m/p","FailedBuild":"d/x"}
)";
  };
  EXPECT_ANSWER(
      judged(whole_report(1, with("missing go.sum entry for module providing package d/x"))),
      inconclusive, acquire_incomplete);
  EXPECT_ANSWER(judged(whole_report(1, with("open /modcache/cache/download/d/x/@v/v1.0.0.lock: "
                                            "read-only file system"))),
                inconclusive, acquire_incomplete);
  EXPECT_ANSWER(judged(whole_report(1, with("d/x@v1.0.0: module lookup disabled by GOPROXY=off"))),
                inconclusive, acquire_incomplete);
  EXPECT_ANSWER(judged(whole_report(1, with("cannot find module providing package d/x"))), failing,
                none);
}

TEST(JudgeBuilds, VetsWordsInsideGoTestAreNotSaidTwice) {
  auto runs = runs_with(
      whole_report(1, R"({"ImportPath":"m/p [m/p.test]","Action":"build-output","Output":"# m/p\n"}
{"ImportPath":"m/p [m/p.test]","Action":"build-output","Output":"# [m/p]\n"}
{"ImportPath":"m/p [m/p.test]","Action":"build-output","Output":"p/p_test.go:7:13: wrong type\n"}
{"ImportPath":"m/p [m/p.test]","Action":"build-fail"}
{"Action":"start","Package":"m/p"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p [build failed]\n"}
{"Action":"fail","Package":"m/p","FailedBuild":"m/p [m/p.test]"}
)"));
  const auto vets = [&] {
    const Judgement judgement = judge(context(), runs);
    return std::ranges::count(judgement.findings, FindingKind::vet, &Finding::kind);
  };
  EXPECT_EQ(vets(), 1) << "vet is off or silent: the finding is kept";
  runs[2].report = whole_report(
      0, R"({"m/p":{"printf":[{"posn":"/src/p/p_test.go:7:13","message":"wrong type"}]}})");
  EXPECT_EQ(vets(), 1);
  EXPECT_EQ(find(judge(context(), runs), FindingKind::vet)->analyzer, "printf");
}

TEST(JudgeBuilds, EqualWordsOfVetInOneFileAreOneFindingAndCounted) {
  auto runs = runs_with(whole_report(0, kPass));
  const auto vet = [&](const std::string& lines) {
    std::string reports;
    std::istringstream wanted(lines);
    for (std::string line; wanted >> line;) {
      reports += (reports.empty() ? "" : ",") +
                 (R"({"posn":"/src/p/p_test.go:)" + line + R"(","message":"possible misuse"})");
    }
    // The package's test variant says the same again.
    runs[2].report =
        whole_report(0, R"({"m/p":{"unsafeptr":[)" + reports +
                            R"(]}}{"m/p [m/p.test]":{"unsafeptr":[)" + reports + "]}}");
    const Judgement judgement = judge(context(), runs);
    EXPECT_EQ(std::ranges::count(judgement.findings, FindingKind::vet, &Finding::kind), 1);
    return *find(judgement, FindingKind::vet);
  };
  EXPECT_EQ(vet("120:30").more_places, 0U);
  const Finding found = vet("120:30 121:30 125:30 125:60");
  EXPECT_EQ(found.more_places, 3U);
  EXPECT_EQ(found.line, 120);
}

TEST(JudgeBuilds, AMissingCCompilerIsToldFromABrokenPackage) {
  auto runs = runs_with(whole_report(0, kPass));
  runs[0].report =
      whole_report(0, kList + R"({"Dir":"/src/c","ImportPath":"m/c","CgoFiles":["c.go"]})" + "\n");
  JudgeContext without = context();
  without.cgo_available = false;
  const Judgement judgement = judge(without, runs);
  EXPECT_ANSWER(judgement, inconclusive, cgo_unavailable);
  EXPECT_ANSWER(judge(context(), runs), inconclusive, incomplete_stream);
}

// ---- manifests, snapshot, fleet
// --------------------------------------------------------------------

TEST(Judge, RefusesWhatNoCommandCanLoad) {
  std::vector<CheckRun> runs;
  for (const CheckKind kind :
       {CheckKind::list, CheckKind::build, CheckKind::vet, CheckKind::test}) {
    runs.push_back(check(
        kind, whole_report(1, "", "go: errors parsing go.mod:\ngo.mod:3: unknown directive: x\n")));
  }
  const Judgement judgement = judge(context(), runs);
  EXPECT_ANSWER(judgement, refused, bad_go_mod);
  EXPECT_EQ(std::ranges::count(judgement.findings, FindingKind::manifest_error, &Finding::kind), 1);
  EXPECT_NE(judgement.message.find("bad_go_mod"), std::string::npos);
}

TEST(Judge, AFailureThatNeedsASubmoduleIsNoFailureOfTheCode) {
  JudgeContext with = context();
  with.notes.lfs_pointers = {"p/testdata/model.bin"};
  const Judgement judgement = judge(with, runs_with(whole_report(1, kFail)));
  EXPECT_ANSWER(judgement, inconclusive, lfs_pointer);
  EXPECT_EQ(find(judgement, FindingKind::test_failure)->environment, "lfs_pointer");
  with.notes.lfs_pointers = {"q/testdata/model.bin", "docs/logo.png"};
  EXPECT_ANSWER(judge(with, runs_with(whole_report(1, kFail))), failing, none);
}

TEST(Judge, AnEngineFaultOutweighsEverything) {
  auto runs = runs_with(whole_report(1, kFail));
  runs[1].report.error = Error{
      .code = Errc::engine_timeout, .what = "create did not answer", .detail = {}, .hint = {}};
  const Judgement judgement = judge(context(), runs);
  EXPECT_ANSWER(judgement, inconclusive, engine);
  ASSERT_TRUE(judgement.fleet_error);
  EXPECT_EQ(judgement.fleet_error->code, Errc::engine_timeout);
}

TEST(Judge, ACancelledRunCancels) {
  auto runs = runs_with(whole_report(1, kFail));
  runs[3].report.ended_by = EndedBy::cancelled;
  EXPECT_EQ(judge(context(), runs).outcome, Outcome::cancelled);
}

TEST(Judge, ACustomCheckFailsWithItsLastWords) {
  auto runs = runs_with(whole_report(0, kPass));
  CheckRun custom = check(CheckKind::custom, whole_report(3, "out\n", "lint: bad\n"));
  custom.name = "lint";
  runs.push_back(std::move(custom));
  const Judgement judgement = judge(context(), runs);
  EXPECT_ANSWER(judgement, failing, none);
  const Finding* finding = find(judgement, FindingKind::package_failure);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message, "check lint ended with exit code 3: lint: bad");
}

TEST(Judge, CutsFindingsAtTheirLimitAndSaysSo) {
  std::string text = "{\"Action\":\"start\",\"Package\":\"m/p\"}\n";
  for (int i = 0; i < 10'050; ++i) {
    text += R"({"Action":"fail","Package":"m/p","Test":"T)" + std::to_string(i) + "\"}\n";
  }
  const Judgement judgement =
      judged(whole_report(1, text + "{\"Action\":\"fail\",\"Package\":\"m/p\"}\n"));
  EXPECT_ANSWER(judgement, failing, none);
  EXPECT_EQ(judgement.findings.size(), 10'000U);
  EXPECT_TRUE(judgement.findings_truncated);
}

}  // namespace
}  // namespace cupel::worker
