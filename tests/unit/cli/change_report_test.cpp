#include "cli/core/change_report.hpp"

#include "cli/core/reports.hpp"
#include "cli/core/results_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

json introduced(const std::string& test, const std::string& signature,
                const std::string& dependency = "") {
  json item = {{"kind", "test_failure"},
               {"package", "m/p"},
               {"test", test},
               {"signature", signature},
               {"message", signature + " in " + test},
               {"fate", "confirmed"},
               {"before", {{"hits", 0}, {"runs", 4}}},
               {"after", {{"hits", 4}, {"runs", 4}}}};
  if (!dependency.empty()) {
    item["dependency"] = {{"module", dependency}, {"from", "v1.0.0"}, {"to", "v1.1.0"}};
  }
  return item;
}

json changed_unit(const std::string& name, const std::string& verdict,
                  json introduced_items = json::array(), const std::string& patch = "withheld",
                  json codes = json::array()) {
  return {{"id", "u-" + name},
          {"repository", name},
          {"dir", "."},
          {"verdict", verdict},
          {"reason", "none"},
          {"message", ""},
          {"comparison",
           {{"before", {{"outcome", "passing"}}},
            {"after", {{"outcome", "failing"}}},
            {"introduced", std::move(introduced_items)},
            {"patch", {{"state", patch}, {"codes", std::move(codes)}}}}}};
}

ReportData changed_sample() {
  ReportData data;
  data.campaign = {{"id", "c-1"}, {"name", "up"}, {"state", "finished"}};
  data.document = {{"change", {{"upgrade", json::object()}}},
                   {"confirm", {{"runs", 3}, {"need", 3}}}};
  data.results = {
      changed_unit("a", "regressed",
                   {introduced("TestA", "s1", "example.com/lib"), introduced("TestB", "s2")},
                   "withheld", {"verdict:regressed"}),
      changed_unit("b", "regressed", json::array({introduced("TestB", "s2")}), "withheld",
                   {"verdict:regressed"}),
      changed_unit("c", "regressed", json::array({introduced("TestX", "s3", "example.com/lib")}),
                   "withheld", {"verdict:regressed"}),
      changed_unit("d", "regressed", json::array({introduced("TestY", "s4", "example.com/lib")}),
                   "withheld", {"verdict:regressed"}),
      changed_unit("e", "compatible", json::array(), "ready"),
      changed_unit("f", "compatible", json::array(), "withheld",
                   {"go_directive_changed", "not_tidy"}),
      changed_unit("g", "flaky")};
  return data;
}

TEST(CountPatches, SaysWhyTheyAreWithheld) {
  const PatchCounts counts = count_patches(changed_sample().results);

  EXPECT_EQ(counts.ready, 1U);
  EXPECT_EQ(counts.withheld, 6U);
  EXPECT_EQ(counts.codes.at("verdict:regressed"), 4U);
  EXPECT_EQ(counts.codes.at("not_tidy"), 1U);
}

TEST(NoiseOf, CountsTheSampleAndStatesTheExpectation) {
  ReportData data = changed_sample();
  EXPECT_THAT(noise_sentence(noise_of(data)), HasSubstr("not measured (no A/A sample), at most"));
  data.results[4]["comparison"]["aa"] = {{"agree", true}};
  data.results[5]["comparison"]["aa"] = {{"agree", false}};

  const Noise noise = noise_of(data);

  EXPECT_EQ(noise.sample.pairs, 2U);
  EXPECT_EQ(noise.sample.differ, 1U);
  EXPECT_EQ(noise.units, 7U);
  EXPECT_THAT(noise_sentence(noise), HasSubstr("A/A: 1 of 2 sampled units differ"));
  EXPECT_THAT(noise_sentence(noise), HasSubstr("among 7 compared units; seen: 4 regressed."));
}

TEST(NoiseOf, TellsOfAPlainValidationOnlyWhatItsSampleShows) {
  ReportData data = changed_sample();
  data.document = {{"change", {{"none", json::object()}}}};
  EXPECT_EQ(noise_sentence(noise_of(data)), "");
  data.results[0]["comparison"]["aa"] = {{"agree", false}};

  const std::string said =
      "A/A: 1 of 1 sampled units differ between two runs of the unchanged side.";

  EXPECT_EQ(noise_sentence(noise_of(data)), said);
  EXPECT_THAT(results_summary(data), HasSubstr(said));
  EXPECT_EQ(changes_markdown(data), said + "\n\n");
}

TEST(Reports, OfACampaignWithAChangeNamePatchesAndNoise) {
  const ReportData data = changed_sample();

  EXPECT_THAT(report_markdown(data, 0), HasSubstr("Patches: 1 ready, 6 withheld"));
  EXPECT_EQ(json::parse(report_json(data))["changes"]["patches"]["ready"], 1);
  EXPECT_THAT(results_summary(data), HasSubstr("patches: 1 ready, 6 withheld"));
}

TEST(Reports, OfEveryFormatStateTheNoise) {
  ReportData data = changed_sample();
  data.results[4]["comparison"]["aa"] = {{"agree", true}};
  const std::string said = noise_sentence(noise_of(data));
  ASSERT_THAT(said, HasSubstr("A/A: 0 of 1 sampled units differ"));
  const std::string ndjson = report_ndjson(data);

  EXPECT_THAT(report_markdown(data, 0), HasSubstr(said));
  EXPECT_THAT(results_summary(data), HasSubstr(said));
  EXPECT_THAT(report_junit(data), HasSubstr("<property name=\"noise\" value=\"" + said + "\"/>"));
  EXPECT_EQ(json::parse(report_json(data))["changes"]["noise"]["pairs"], 1);
  EXPECT_EQ(json::parse(ndjson.substr(0, ndjson.find('\n')))["changes"]["noise"]["pairs"], 1);
}

TEST(ReportMarkdown, SaysHowTheScansDiffer) {
  ReportData data = changed_sample();
  data.results = {changed_unit("a", "fixed")};
  data.results[0]["findings"] = {{{"kind", "note"}, {"message", "x"}}};
  data.results[0]["comparison"]["scan"] = {
      {"resolved", {{{"osv", "GO-1"}, {"module", "m.org/lib"}, {"level", "symbol"}}}},
      {"persisting", {{{"osv", "GO-2"}, {"module", "stdlib"}, {"level", "module"}}}}};

  EXPECT_THAT(report_markdown(data, 0), HasSubstr("- scan: resolved GO-1 (m.org/lib, symbol)\n"
                                                  "- scan: persisting GO-2 (stdlib, module)\n"));
}

TEST(Reports, OfAPlainValidationSayNothingAboutChanges) {
  ReportData data = changed_sample();
  data.document = {{"change", {{"none", json::object()}}}};

  EXPECT_EQ(changes_markdown(data), "");
  EXPECT_FALSE(json::parse(report_json(data)).contains("changes"));
}

TEST(ReportMarkdown, SaysOnHowManyRunsAFindingWas) {
  ReportData data = changed_sample();
  data.results[0]["findings"] = {{{"kind", "test_failure"}, {"message", "x"}}};

  EXPECT_THAT(report_markdown(data, 0),
              HasSubstr("introduced: test_failure m/p TestA (confirmed: 4 of 4 runs after, 0 of 4 "
                        "before)"));
}

TEST(ReportJunit, FailsOnlyForWhatTheChangeBrought) {
  ReportData data = changed_sample();
  data.results = {changed_unit("a", "broken_before")};
  data.results[0]["findings"] = {{{"kind", "test_failure"}, {"test", "TestOld"}}};

  const std::string text = report_junit(data);

  EXPECT_THAT(text, Not(HasSubstr("<failure")));
  EXPECT_THAT(text, HasSubstr("failures=\"0\""));
}

TEST(ChangeNote, SaysWhatMovedAndWhatBecameOfThePatch) {
  json one = changed_unit("a", "compatible", json::array(), "withheld",
                          {"go_directive_changed", "not_tidy"});
  one["comparison"]["change"] = {
      {"moved",
       {{{"module", "m.org/a"}, {"from", "v1.0.0"}, {"to", "v1.1.0"}, {"target", true}},
        {{"module", "m.org/other"}, {"from", "v1.0.0"}, {"to", "v1.2.0"}, {"target", false}}}}};

  EXPECT_EQ(headline(one, 200),
            "m.org/a v1.0.0 -> v1.1.0; patch withheld: go_directive_changed, not_tidy");
  EXPECT_EQ(change_note(changed_unit("b", "compatible", json::array(), "none")), "");
  EXPECT_EQ(change_note(changed_unit("b", "compatible", json::array(), "ready")), "patch ready");
}

}  // namespace
}  // namespace cupel::cli
