#include "cli/core/retry.hpp"

#include <gtest/gtest.h>

namespace cupel::cli {
namespace {

json tried_unit(const std::string& url, const std::string& dir, const std::string& verdict,
                const std::string& commit = "c0ffee") {
  return {{"repository", url + "@main"},
          {"source", {{"type", "git"}, {"url", url}, {"ref", "main"}}},
          {"dir", dir},
          {"commit", commit},
          {"verdict", verdict}};
}

ReportData earlier() {
  ReportData data;
  data.campaign = {{"id", "c-1"}};
  data.document = {{"name", "n"}, {"change", {{"go", {{"version", "1.26"}}}}}};
  data.results = {
      tried_unit("https://h/a", ".", "flaky"), tried_unit("https://h/a", "sub", "inconclusive"),
      tried_unit("https://h/a", "fine", "compatible"), tried_unit("https://h/b", ".", "compatible"),
      tried_unit("https://h/c", "", "inconclusive", "")};
  return data;
}

TEST(RetryDocument, AsksForTheUnitsAloneAtTheCommitThatWasTested) {
  const auto document = retry_document(earlier(), {"flaky", "inconclusive"});

  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ((*document)["repositories"],
            json::array({{{"git", "https://h/a"}, {"ref", "c0ffee"}, {"subdirs", {".", "sub"}}},
                         {{"git", "https://h/c"}, {"ref", "main"}}}));
  EXPECT_EQ((*document)["change"]["go"]["version"], "1.26");
}

TEST(RetryDocument, KeepsWhatIsUpgradedInARepositoryAlone) {
  ReportData data = earlier();
  const json one = json::array({{{"module", "m.org/a"}, {"version", "v1.1.0"}}});
  const json two = json::array({{{"module", "m.org/b"}, {"version", "v1.2.0"}}});
  data.document["repositories"] = {{{"git", "https://h/a"}, {"upgrade", one}},
                                   {{"git", "https://h/a"}, {"upgrade", two}},
                                   {{"git", "https://h/a"}}};
  data.results = {tried_unit("https://h/a", ".", "flaky"), tried_unit("https://h/a", ".", "flaky"),
                  tried_unit("https://h/a", ".", "flaky")};
  for (std::size_t i = 0; i < 3; ++i) data.results[i]["ordinal"] = i;

  const auto document = retry_document(data, {"flaky"});

  ASSERT_TRUE(document) << document.error().text();
  const json& entries = (*document)["repositories"];
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0]["upgrade"], one);
  EXPECT_EQ(entries[1]["upgrade"], two);
  EXPECT_FALSE(entries[2].contains("upgrade"));
}

TEST(RetryDocument, NothingToDoIsSaid) {
  EXPECT_EQ(retry_document(earlier(), {"regressed"}).error().code, Errc::no_repositories);
}

TEST(Merged, TheLaterAnswerOfAUnitCounts) {
  ReportData later;
  later.campaign = {{"id", "c-2"}};
  later.results = {tried_unit("https://h/a", ".", "compatible"),
                   tried_unit("https://h/a", "sub", "regressed"),
                   tried_unit("https://h/c", "x", "compatible", "abc")};

  const ReportData all = merged(earlier(), later);

  EXPECT_EQ(sum_line(all.results), "5 units = 4 compatible + 1 regressed");
  EXPECT_EQ(all.campaign["merged_with"], "c-1");
}

TEST(Merged, OneRepositoryWithTwoQuestionsIsTwo) {
  const json one = json::array({{{"module", "m.org/a"}, {"version", "v1.1.0"}}});
  const json two = json::array({{{"module", "m.org/b"}, {"version", "v1.2.0"}}});
  ReportData before = earlier();
  before.document["repositories"] = {{{"git", "https://h/a"}, {"upgrade", one}},
                                     {{"git", "https://h/a"}, {"upgrade", two}}};
  before.results = {tried_unit("https://h/a", ".", "flaky"),
                    tried_unit("https://h/a", ".", "compatible")};
  ReportData later = before;
  later.document["repositories"].erase(1);
  later.results = {tried_unit("https://h/a", ".", "regressed")};
  for (ReportData* data : {&before, &later}) {
    for (std::size_t i = 0; i < data->results.size(); ++i) data->results[i]["ordinal"] = i;
  }

  EXPECT_EQ(sum_line(merged(before, later).results), "2 units = 1 compatible + 1 regressed");
}

}  // namespace
}  // namespace cupel::cli
