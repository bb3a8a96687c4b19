#include "worker/core/scan/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <sstream>

namespace cupel::worker::scan {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string recorded(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(CUPEL_SOURCE_DIR) + "/tests/fixtures/scan-streams/" + name,
                        std::ios::binary)
              .rdbuf();
  return text.str();
}

Expected expected(const std::string& folder = "_vulndb") {
  return {"v1.9.0", "file://$CASES/" + folder, "2099-01-02T00:00:00Z", "go1.26.8"};
}

StreamReport read(const std::string& name, const std::string& folder = "_vulndb") {
  return read_stream(recorded(name), expected(folder));
}

/// The messages of a complete stream, to be changed one at a time.
std::vector<json> messages() {
  const json frame = {{"module", "example.com/dep"}, {"version", "v1.0.0"}};
  return {
      {{"config",
        {{"protocol_version", "v1.0.0"},
         {"scanner_name", "govulncheck"},
         {"scanner_version", "v1.9.0"},
         {"db", "file:///vulndb"},
         {"db_last_modified", "2026-01-02T00:00:00Z"},
         {"go_version", "go1.26.8"},
         {"scan_level", "symbol"},
         {"scan_mode", "source"}}}},
      {{"SBOM",
        {{"go_version", "go1.26.8"},
         {"modules",
          {{{"path", "example.com/m"}}, {{"path", "example.com/dep"}, {"version", "v1.0.0"}}}},
         {"roots", {"example.com/m"}}}}},
      {{"progress", {{"message", "Fetching vulnerabilities from the database..."}}}},
      {{"osv", {{"id", "GO-2026-0001"}, {"summary", "Bad\nthing"}}}},
      {{"progress", {{"message", "Checking the code against the vulnerabilities..."}}}},
      {{"finding",
        {{"osv", "GO-2026-0001"},
         {"fixed_version", "v1.2.0"},
         {"trace",
          {{{"module", "example.com/dep"},
            {"version", "v1.0.0"},
            {"package", "example.com/dep/p"},
            {"function", "Do"},
            {"receiver", "*T"}},
           {{"module", "example.com/m"}, {"package", "example.com/m"}, {"function", "main"}}}}}}}};
}

StreamReport read(const std::vector<json>& all) {
  std::string text;
  for (const json& one : all) text += one.dump(1) + "\n";
  return read_stream(text, {"v1.9.0", "file:///vulndb", "2026-01-02T00:00:00Z", "go1.26.8"});
}

std::string problem_after(const std::function<void(std::vector<json>&)>& change) {
  auto all = messages();
  change(all);
  const auto report = read(all);
  EXPECT_TRUE(report.conclusive() || report.facts.vulnerabilities.empty());
  return report.problem;
}

TEST(ScanStream, ACalledFunctionIsReportedOnceAtItsMostPreciseLevel) {
  const auto report = read("210.json");
  ASSERT_EQ(report.problem, "");
  ASSERT_EQ(report.facts.vulnerabilities.size(), 2U);
  const Vulnerability& called = report.facts.vulnerabilities[0];
  EXPECT_EQ(called.osv, "GO-2099-0001");
  EXPECT_EQ(called.module, "ex.test/dep/vuln");
  EXPECT_EQ(called.level, VulnLevel::symbol);
  EXPECT_EQ(called.package, "ex.test/dep/vuln");
  EXPECT_EQ(called.symbol, "Parse");
  EXPECT_EQ(called.found_version, "v1.0.0");
  EXPECT_EQ(called.fixed_version, "v1.1.0");
  EXPECT_EQ(called.summary, "Fixture vulnerability in ex.test/dep/vuln");
  EXPECT_EQ(report.facts.vulnerabilities[1].module, "stdlib");
  EXPECT_EQ(report.facts.vulnerabilities[1].level, VulnLevel::module);
}

TEST(ScanStream, ManyCallSitesAreOneKey) {
  const auto report = read("222.json");
  ASSERT_EQ(report.problem, "");
  EXPECT_EQ(report.facts.vulnerabilities.size(), 2U);
  EXPECT_EQ(report.facts.vulnerabilities[0].symbol, "Parse");
}

TEST(ScanStream, AnAdvisoryIsNoFinding) {
  const auto report = read("214.json");
  ASSERT_EQ(report.problem, "");
  ASSERT_EQ(report.facts.vulnerabilities.size(), 1U);
  EXPECT_EQ(report.facts.vulnerabilities[0].module, "stdlib");
}

TEST(ScanStream, OnlyTestsCallItIsPackageLevelWithoutTests) {
  const auto report = read("224.json");
  ASSERT_EQ(report.problem, "");
  EXPECT_EQ(report.facts.vulnerabilities[0].level, VulnLevel::package);
  EXPECT_EQ(read("224-test.json").facts.vulnerabilities[0].level, VulnLevel::symbol);
}

TEST(ScanStream, AFunctionOfTheStandardLibraryIsFound) {
  const auto report = read("215.json");
  ASSERT_EQ(report.facts.vulnerabilities.size(), 1U);
  EXPECT_EQ(report.facts.vulnerabilities[0].symbol, "ToTitle");
  EXPECT_EQ(report.facts.vulnerabilities[0].package, "strings");
}

TEST(ScanStream, AWithdrawnAdvisoryIsToldApart) {
  const auto report = read("220.json", "_vulndb_withdrawn");
  ASSERT_EQ(report.problem, "");
  EXPECT_TRUE(report.facts.vulnerabilities.empty());
  ASSERT_EQ(report.withdrawn.size(), 1U);
  EXPECT_EQ(report.withdrawn[0].osv, "GO-2099-0001");
}

TEST(ScanStream, AModuleThatIsOnlyRequiredIsNotAmongTheScannedOnes) {
  const auto report = read("212.json");
  ASSERT_EQ(report.problem, "");
  for (const ScannedModule& module : report.modules) EXPECT_NE(module.path, "ex.test/dep/vuln");
}

TEST(ScanStream, AScannerThatStoppedSaysNothing) {
  EXPECT_THAT(read("216.json").problem, HasSubstr("which modules it read"));
  EXPECT_THAT(read("218.json", "_vulndb_half").problem, HasSubstr("before it checked the code"));
  EXPECT_THAT(read_stream("", expected()).problem, HasSubstr("empty"));
  EXPECT_THAT(read_stream(" \n", expected()).problem, HasSubstr("empty"));
}

TEST(ScanStream, ACutStreamIsNeverCleanWhereverItIsCut) {
  const std::string whole = recorded("210.json");
  const std::size_t checked = whole.find("Checking the code");
  for (std::size_t size = 0; size < checked; ++size) {
    EXPECT_FALSE(read_stream(whole.substr(0, size), expected()).conclusive()) << size;
  }
}

// A folder in place of a module is listed once for each of the two.
TEST(ScanStream, AReplacedModuleIsListedTwice) {
  const auto report = read("711.json");
  ASSERT_EQ(report.problem, "");
  ASSERT_EQ(report.modules.size(), 3U);
  EXPECT_EQ(report.modules[1].path, "./fork");
  EXPECT_THAT(
      problem_after([](std::vector<json>& all) {
        all[1]["SBOM"]["modules"].push_back({{"path", "example.com/dep"}, {"version", "v1.0.1"}});
      }),
      HasSubstr("two versions"));
}

TEST(ScanStream, TheOrderOfFindingsChangesNothing) {
  auto all = messages();
  const json package_level = {{"finding",
                               {{"osv", "GO-2026-0001"},
                                {"fixed_version", "v1.2.0"},
                                {"trace",
                                 {{{"module", "example.com/dep"},
                                   {"version", "v1.0.0"},
                                   {"package", "example.com/dep/p"}}}}}}};
  auto first = all;
  first.insert(first.begin() + 5, package_level);
  auto last = all;
  last.push_back(package_level);
  EXPECT_EQ(read(first).facts, read(last).facts);
  EXPECT_EQ(read(first).facts.vulnerabilities[0].symbol, "T.Do");
  EXPECT_EQ(read(first).facts.vulnerabilities[0].summary, "Bad thing");
}

TEST(ScanStream, TheConfigurationIsTheExpectedOne) {
  const auto with = [](const char* member, const json& value) {
    return problem_after([&](auto& all) { all[0]["config"][member] = value; });
  };
  EXPECT_THAT(with("protocol_version", "v2.0.0"), HasSubstr("protocol"));
  EXPECT_THAT(with("scanner_name", "other"), HasSubstr("scanner"));
  EXPECT_THAT(with("scanner_version", "v1.8.0"), HasSubstr("version"));
  EXPECT_THAT(with("scan_mode", "binary"), HasSubstr("mode"));
  EXPECT_THAT(with("scan_level", "module"), HasSubstr("level"));
  EXPECT_THAT(with("db", "https://example.com"), HasSubstr("database"));
  EXPECT_THAT(with("db_last_modified", "2026-01-03T00:00:00Z"), HasSubstr("time"));
  EXPECT_THAT(with("db_last_modified", ""), HasSubstr("db_last_modified"));
  EXPECT_THAT(with("go_version", "go1.26.7"), HasSubstr("Go version"));
  EXPECT_THAT(with("go_version", nullptr), HasSubstr("go_version"));
  EXPECT_THAT(with("go_version", 1), HasSubstr("no text"));
}

TEST(ScanStream, TheFrameOfTheStreamIsChecked) {
  EXPECT_EQ(problem_after([](auto&) {}), "");
  EXPECT_THAT(problem_after([](auto& all) { all.erase(all.begin()); }), HasSubstr("first message"));
  EXPECT_THAT(problem_after([](auto& all) { all.push_back(all[0]); }),
              HasSubstr("second configuration"));
  EXPECT_THAT(problem_after([](auto& all) { all.insert(all.begin() + 2, all[1]); }),
              HasSubstr("second list"));
  EXPECT_THAT(problem_after([](auto& all) { all.erase(all.begin() + 1); }),
              HasSubstr("not listed"));
  EXPECT_THAT(problem_after([](auto& all) { all.erase(all.begin() + 4); }),
              HasSubstr("before it checked"));
  EXPECT_THAT(problem_after([](auto& all) { all[2]["osv"] = json::object(); }),
              HasSubstr("exactly one key"));
  EXPECT_THAT(problem_after([](auto& all) { all[2] = {{"news", json::object()}}; }),
              HasSubstr("unknown kind"));
  EXPECT_THAT(problem_after([](auto& all) { all[2] = {{"progress", nullptr}}; }),
              HasSubstr("no object"));
  EXPECT_THAT(problem_after([](auto& all) { all[1]["SBOM"]["roots"] = json::array(); }),
              HasSubstr("no package"));
  EXPECT_THAT(problem_after([](auto& all) { all[1]["SBOM"].erase("roots"); }), HasSubstr("roots"));
  EXPECT_THAT(problem_after([](auto& all) { all[1]["SBOM"]["go_version"] = "go1.25.0"; }),
              HasSubstr("Go version"));
}

TEST(ScanStream, WhatIsNoConcatenatedJsonIsRefused) {
  const std::string whole = recorded("214.json");
  EXPECT_FALSE(read_stream(whole + "x", expected()).conclusive());
  EXPECT_FALSE(read_stream("[]" + whole, expected()).conclusive());
  EXPECT_FALSE(
      read_stream(whole + "{\"progress\": {\"message\": \"\xff\"}}", expected()).conclusive());
  EXPECT_FALSE(read_stream(whole + "{\"progress\": }", expected()).conclusive());
  EXPECT_FALSE(read_stream(whole + std::string(200, '['), expected()).conclusive());
  EXPECT_FALSE(
      read_stream(whole + "{\"progress\":" + std::string(100, '{'), expected()).conclusive());
}

TEST(ScanStream, AFindingThatContradictsItselfIsRefused) {
  const auto with = [](const std::function<void(json&)>& change) {
    return problem_after([&](auto& all) { change(all[5]["finding"]); });
  };
  EXPECT_THAT(with([](json& f) { f["osv"] = "GO-2026-0002"; }), HasSubstr("before its advisory"));
  EXPECT_THAT(with([](json& f) { f.erase("osv"); }), HasSubstr("osv"));
  EXPECT_THAT(with([](json& f) { f["fixed_version"] = "soon"; }), HasSubstr("no version"));
  EXPECT_THAT(with([](json& f) { f["trace"] = json::array(); }), HasSubstr("trace"));
  EXPECT_THAT(with([](json& f) { f["trace"][0].erase("module"); }), HasSubstr("module"));
  EXPECT_THAT(with([](json& f) { f["trace"][0]["package"] = ""; }), HasSubstr("package"));
  EXPECT_THAT(with([](json& f) { f["trace"].erase(1); }), HasSubstr("from where"));
  EXPECT_THAT(with([](json& f) { f["trace"][0].erase("function"); }), HasSubstr("more than one"));
  EXPECT_THAT(with([](json& f) { f["trace"][0]["version"] = "v1.0.1"; }),
              HasSubstr("another version"));
  EXPECT_THAT(with([](json& f) { f["trace"][0]["module"] = "example.com/x"; }),
              HasSubstr("not listed"));
  EXPECT_THAT(problem_after([](auto& all) {
                all.push_back(all[5]);
                all[6]["finding"]["fixed_version"] = "v1.3.0";
              }),
              HasSubstr("disagree"));
}

TEST(ScanStream, ThereIsNoFixIsAnAnswer) {
  auto all = messages();
  all[5]["finding"].erase("fixed_version");
  const auto report = read(all);
  ASSERT_EQ(report.problem, "");
  EXPECT_EQ(report.facts.vulnerabilities[0].fixed_version, "");
}

TEST(ScanStream, ForeignTextIsOneShortLine) {
  EXPECT_EQ(one_line("a\nb\x1b[1mc", 5), "a b [");
  EXPECT_EQ(one_line("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xc3\xb6");
}

}  // namespace
}  // namespace cupel::worker::scan
