// The check scan, from run to judgement.
#include "tests/unit/worker_core_go/judging.hpp"
#include "worker/core/go/plan.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace cupel::worker {
namespace {

using namespace judging;
using testing::HasSubstr;

std::string stream(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/scan-streams/" + name,
                        std::ios::binary)
              .rdbuf();
  return text.str();
}

JudgeContext scanning(const std::string& database = "_vulndb") {
  JudgeContext out = context();
  out.scan.emplace();
  out.scan->expected = {"v1.9.0", "file://$CASES/" + database, "2099-01-02T00:00:00Z", "go1.26.8"};
  out.scan->database_id = "id";
  return out;
}

Judgement scanned(const JudgeContext& about, RunReport report) {
  const std::vector<CheckRun> runs = {check(CheckKind::scan, std::move(report))};
  return judge(about, runs);
}

TEST(ScanCheck, ReachedCodeFailsAndIsOneFinding) {
  const Judgement judgement = scanned(scanning(), whole_report(0, stream("222.json")));
  EXPECT_ANSWER(judgement, failing, none);
  const Finding* finding = find(judgement, FindingKind::vuln);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->key, "GO-2099-0001 ex.test/dep/vuln");
  EXPECT_EQ(finding->package, "ex.test/dep/vuln");
  EXPECT_EQ(finding->analyzer, "GO-2099-0001");
  EXPECT_THAT(finding->message, HasSubstr("Parse is called"));
  EXPECT_THAT(finding->message, HasSubstr("fixed in v1.1.0"));
  ASSERT_TRUE(judgement.scan);
  EXPECT_EQ(judgement.scan->database_id, "id");
  EXPECT_EQ(judgement.scan->vulnerabilities.size(), 2U);
}

TEST(ScanCheck, ImportedCodeThatNothingReachesPassesAndIsTold) {
  const Judgement judgement = scanned(scanning(), whole_report(0, stream("224.json")));
  EXPECT_ANSWER(judgement, passing, none);
  ASSERT_NE(find(judgement, FindingKind::vuln), nullptr);
}

TEST(ScanCheck, AnAdvisoryAboutTheStandardLibraryCountsWhereItIsReached) {
  EXPECT_ANSWER(scanned(scanning(), whole_report(0, stream("215.json"))), failing, none);
  const Judgement clean = scanned(scanning(), whole_report(0, stream("214.json")));
  EXPECT_ANSWER(clean, passing, none);
  EXPECT_EQ(find(clean, FindingKind::vuln), nullptr);
  EXPECT_TRUE(has_note(clean, "stdlib_not_imported"));
}

TEST(ScanCheck, AWithdrawnAdvisoryIsANote) {
  const Judgement judgement =
      scanned(scanning("_vulndb_withdrawn"), whole_report(0, stream("220.json")));
  EXPECT_ANSWER(judgement, passing, none);
  EXPECT_TRUE(has_note(judgement, "withdrawn"));
}

TEST(ScanCheck, ARequiredModuleThatIsNotLoadedIsANote) {
  JudgeContext about = scanning();
  about.scan->required = {{"ex.test/dep/vuln", "v1.0.0", "", false}};
  about.scan->advisories["ex.test/dep/vuln"] = {{"GO-2099-0001", {{"0", "1.1.0"}}}};
  const Judgement judgement = scanned(about, whole_report(0, stream("212.json")));
  EXPECT_ANSWER(judgement, passing, none);
  EXPECT_TRUE(has_note(judgement, "required_not_loaded: ex.test/dep/vuln@v1.0.0"));
}

TEST(ScanCheck, AScannerThatEndedWithAnErrorProvesNothing) {
  const std::string words =
      "govulncheck: loading packages: \nThere are errors with the provided "
      "package patterns:\n\nmain.go:5:28: undefined: vuln.Nope\n";
  const Judgement judgement = scanned(scanning(), whole_report(1, stream("216.json"), words));
  EXPECT_ANSWER(judgement, inconclusive, scan_failed);
  EXPECT_FALSE(judgement.scan);
  ASSERT_NE(find(judgement, FindingKind::scan_error), nullptr);
  EXPECT_THAT(find(judgement, FindingKind::scan_error)->message, HasSubstr("vuln.Nope"));
}

TEST(ScanCheck, NothingToScanIsNoFaultOfTheScanner) {
  const Judgement judgement =
      scanned(scanning(), whole_report(1, stream("216.json"),
                                       "govulncheck: no packages matched the provided patterns\n"));
  EXPECT_ANSWER(judgement, inconclusive, no_packages);
}

/// A scan beside the list of p and of c, which needs cgo and which p imports.
Judgement scanned_without_cgo(bool compiler, const std::string& words) {
  JudgeContext about = scanning();
  about.cgo_available = compiler;
  const std::string list = R"({"Dir":"/src/p","ImportPath":"m/p","Imports":["m/c"]})"
                           "\n"
                           R"({"Dir":"/src/c","ImportPath":"m/c","CgoFiles":["c.go"]})"
                           "\n";
  const std::vector<CheckRun> runs = {
      check(CheckKind::list, whole_report(0, list)),
      check(CheckKind::scan, whole_report(1, stream("216.json"), words))};
  return judge(about, runs);
}

TEST(ScanCheck, WhatNeedsACCompilerIsNoFaultOfTheScanner) {
  const std::string head =
      "govulncheck: loading packages: \nThere are errors with the provided package patterns:\n\n";
  for (const std::string& words :
       {head + "-: build constraints exclude all Go files in /src/c\n/src/p/p.go:5:25: undefined: "
               "c.One\n",
        head + "/src/c/d.go:3:25: undefined: One\n", head + "/src/p/p.go:5:25: undefined: c.One\n",
        std::string("govulncheck: no packages matched the provided patterns\n")}) {
    EXPECT_ANSWER(scanned_without_cgo(false, words), inconclusive, cgo_unavailable) << words;
    EXPECT_EQ(scanned_without_cgo(true, words).reason,
              words.starts_with(head) ? Reason::scan_failed : Reason::no_packages)
        << words;
  }
  const Judgement other = scanned_without_cgo(false, head + "/src/p/p.go:5:28: expected ';'\n");
  EXPECT_ANSWER(other, inconclusive, scan_failed);
}

TEST(ScanCheck, ADatabaseThatBreaksUnderTheScannerIsCorrupt) {
  const Judgement judgement = scanned(
      scanning("_vulndb_half"),
      whole_report(1, stream("218.json"),
                   "govulncheck: fetching vulnerabilities: open ID/GO-2099-0001.json: no such file "
                   "or directory\n"));
  EXPECT_ANSWER(judgement, inconclusive, vulndb_corrupt);
}

TEST(ScanCheck, ACompleteStreamWithAnErrorCodeProvesNothing) {
  EXPECT_ANSWER(scanned(scanning(), whole_report(1, stream("214.json"))), inconclusive,
                scan_failed);
  EXPECT_ANSWER(scanned(scanning(), whole_report(0, "")), inconclusive, scan_failed);
}

TEST(ScanCheck, AStreamOfAnotherScannerOrDatabaseProvesNothing) {
  JudgeContext about = scanning();
  about.scan->expected.scanner_version = "v1.8.0";
  EXPECT_ANSWER(scanned(about, whole_report(0, stream("214.json"))), inconclusive, scan_failed);
}

TEST(ScanCheck, ATruncatedStreamProvesNothingWhateverItHolds) {
  RunReport report = whole_report(0, stream("210.json"));
  report.out.truncated = true;
  const Judgement judgement = scanned(scanning(), report);
  EXPECT_ANSWER(judgement, inconclusive, output_truncated);
  EXPECT_FALSE(judgement.scan);
}

TEST(ScanCheck, WithoutADatabaseTheCheckSaysWhy) {
  JudgeContext about = scanning();
  about.scan->problem = Reason::vulndb_corrupt;
  about.scan->message = "index/vulns.json names GO-1, but there is no such file";
  const Judgement judgement = judge(about, {});
  EXPECT_ANSWER(judgement, inconclusive, vulndb_corrupt);
  ASSERT_EQ(judgement.checks.size(), 1U);
  EXPECT_EQ(judgement.checks[0].check, CheckKind::scan);
  EXPECT_THAT(judgement.message, HasSubstr("GO-1"));
}

TEST(ScanCheck, AMissingScanNeverHidesAFailingTest) {
  JudgeContext about = scanning();
  about.scan->problem = Reason::scan_failed;
  EXPECT_ANSWER(judge(about, runs_with(whole_report(1, kFail))), failing, none);
  EXPECT_ANSWER(judge(about, runs_with(whole_report(0, kPass))), inconclusive, scan_failed);
}

TEST(ScanCheck, ItsRunIsPlannedWithLimitsOfItsOwn) {
  const ValidationSettings settings;
  const auto all = plan_checks({}, settings, {.wanted = true});
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[4].check, CheckKind::scan);
  EXPECT_TRUE(all[4].fresh_gocache);
  EXPECT_EQ(all[4].limit, kScanLimit);
  EXPECT_EQ(all[4].limits.output_bytes, kScanOutputBytes);
  const auto only = plan_checks({}, settings, {.wanted = true, .only = true, .limit_s = 20});
  ASSERT_EQ(only.size(), 1U);
  EXPECT_EQ(only[0].limit, std::chrono::seconds(20));
  EXPECT_TRUE(plan_checks({}, settings, {.wanted = false, .only = true}).empty());
}

}  // namespace
}  // namespace cupel::worker
