#include "cli/core/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace cupel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ReportData sample() {
  ReportData data;
  data.campaign = {{"id", "c-7"},
                   {"name", "nightly"},
                   {"state", "finished"},
                   {"created", "2026-11-29T16:02:11Z"},
                   {"finished", "2026-11-29T16:12:11Z"},
                   {"digest", std::string(64, 'a')}};
  const json finding = {{"kind", "test_failure"},
                        {"check", "test"},
                        {"package", "example.com/a"},
                        {"test", "TestX"},
                        {"file", "a_test.go"},
                        {"line", 12},
                        {"message", "want 1, got | 2 ]]> <b>&\x01\x1B[0m ```"},
                        {"signature", "sig"}};
  const json remark = {{"kind", "note"}, {"message", "only a note"}};
  data.results = {
      {{"id", "u-1"},
       {"repository", "https://h/a"},
       {"dir", "."},
       {"module", "example.com/a"},
       {"commit", "abc"},
       {"verdict", "failing"},
       {"reason", "none"},
       {"fault", "repository"},
       {"message", "1 test failed"},
       {"seconds", 12.5},
       {"findings", {remark, finding}}},
      {{"id", "u-2"},
       {"repository", "https://h/b"},
       {"dir", "sub"},
       {"module", "example.com/b/sub"},
       {"verdict", "passing"},
       {"reason", "none"},
       {"seconds", 3}},
      {{"id", "u-3"},
       {"repository", "https://h/c"},
       {"dir", "."},
       {"verdict", "inconclusive"},
       {"reason", "timeout"},
       {"message", "no end in 600 s"},
       {"seconds", 600}},
      {{"id", "u-4"},
       {"repository", "../odd"},
       {"dir", ""},
       {"verdict", "refused"},
       {"reason", "hostile_git_config"},
       {"message", "core.fsmonitor is set"}},
      {{"id", "u-5"},
       {"repository", "https://h/d"},
       {"dir", "."},
       {"verdict", "failing"},
       {"reason", "none"},
       {"findings", {finding}}},
  };
  return data;
}

std::string golden(const std::string& name) {
  std::ifstream in(std::string(CUPEL_SOURCE_DIR) + "/tests/golden/reports/" + name,
                   std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()};
}

/// The files are rewritten with CUPEL_WRITE_GOLDEN=1; the difference is reviewed like code.
void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("CUPEL_WRITE_GOLDEN") != nullptr) {
    std::ofstream(std::string(CUPEL_SOURCE_DIR) + "/tests/golden/reports/" + name, std::ios::binary)
        << text;
  }
  EXPECT_EQ(text, golden(name));
}

TEST(Reports, MatchTheirGoldenFiles) {
  expect_golden("report.md", report_markdown(sample(), 0));
  expect_golden("report.xml", report_junit(sample()));
  expect_golden("report.ndjson", report_ndjson(sample()));
  expect_golden("report.json", report_json(sample()));
}

TEST(ReportJson, CountsAddUpAndNameTheCampaignFile) {
  const json report = json::parse(report_json(sample()));
  std::size_t sum = 0;
  for (const auto& [verdict, count] : report["totals"]["verdicts"].items())
    sum += count.get<std::size_t>();
  EXPECT_EQ(sum, report["totals"]["units"]);
  EXPECT_EQ(report["results"].size(), 5U);
  EXPECT_EQ(report["digest"], std::string(64, 'a'));
  EXPECT_EQ(report["groups"][0]["units"], json({"https://h/a", "https://h/d"}));
}

TEST(ReportNdjson, EveryLineIsJson) {
  const std::string text = report_ndjson(sample());
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    EXPECT_TRUE(json::parse(text.substr(at, end - at))["v"] == 1);
    at = end + 1;
  }
  EXPECT_EQ(lines, 6U);
}

TEST(ReportMarkdown, KeepsItsByteBudgetAndSaysWhatIsMissing) {
  ReportData data = sample();
  for (int i = 0; i < 500; ++i) {
    json unit = data.results[0];
    unit["repository"] = "https://h/extra" + std::to_string(i);
    unit["findings"][1]["signature"] = "s" + std::to_string(i);
    data.results.push_back(unit);
  }
  const std::string whole = report_markdown(data, 0);
  for (const std::size_t budget : {600UL, 1000UL, 5000UL, 60'000UL}) {
    const std::string text = report_markdown(data, budget);
    EXPECT_LE(text.size(), budget);
    EXPECT_THAT(text, HasSubstr("left out: the report has a size limit"));
    EXPECT_THAT(text, HasSubstr("505 units"));
    // No row was cut in its middle.
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.starts_with("| ")) {
        EXPECT_TRUE(line.ends_with(" |")) << line;
        EXPECT_THAT(whole, HasSubstr(line + "\n"));
      }
      at = end == std::string::npos ? text.size() : end + 1;
    }
  }
}

TEST(ReportMarkdown, ForeignTextIsNoMarkup) {
  ReportData data = sample();
  data.results[0]["message"] = "a | b <script> [x](y)\nsecond line";
  const std::string text = report_markdown(data, 0);
  EXPECT_THAT(text, HasSubstr("a \\| b \\<script\\> \\[x\\](y) |"));
  EXPECT_THAT(text, Not(HasSubstr("\x1B")));
  EXPECT_THAT(text, HasSubstr("````\nwant 1")) << "a fence longer than any in the text";
}

TEST(ReportJunit, IsWellFormedWhateverWasPrinted) {
  ReportData data = sample();
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes.push_back(static_cast<char>(c));
  data.results[0]["message"] = bytes + "]]>\xEF\xBF\xBF<!--";
  data.results[0]["repository"] = bytes;
  data.results[0]["findings"][1]["test"] = bytes;
  data.results[0]["findings"][1]["message"] = std::string(200'000, '<');
  const std::string file = testing::TempDir() + "cupel-junit-" + std::to_string(getpid()) + ".xml";
  const std::string text = report_junit(data);
  std::ofstream(file, std::ios::binary) << text;

  const std::string command =
      "python3 -c \"import sys,xml.dom.minidom as m; d=m.parse(sys.argv[1]); "
      "sys.exit(0 if len(d.getElementsByTagName('testcase'))==7 else 3)\" " +
      file;
  EXPECT_EQ(std::system(command.c_str()), 0);

  unlink(file.c_str());
  EXPECT_LT(text.size(), 300'000U + 64U * 1024U * 4U);
  EXPECT_THAT(text, HasSubstr("tests=\"7\" failures=\"4\" errors=\"1\" skipped=\"1\""));
}

TEST(XmlText, EscapesWhatXmlCouldMisread) {
  EXPECT_EQ(xml_text("a<b>&\"'\n]]>"), "a&lt;b&gt;&amp;&quot;&apos;&#10;]]&gt;");
  EXPECT_EQ(xml_text(std::string("\0\x01\xFF\xEF\xBF\xBE", 6)), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace cupel::cli
