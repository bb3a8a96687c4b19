#include "coordinator/http/views.hpp"

#include "common/core/json.hpp"
#include "coordinator/http/event_hub.hpp"

#include <gtest/gtest.h>

namespace cupel::coordinator::http {
namespace {

TEST(SummaryView, ShowsEveryPlainVerdictAndAddsUp) {
  CampaignSummary summary;
  summary.campaign.id = {5};
  summary.campaign.created = {1'000'000};
  summary.units = 3;
  summary.units_open = 1;
  summary.verdicts = {{Verdict::failing, 2}};

  const auto json = summary_view(summary);

  EXPECT_EQ(json["id"], "c-5");
  EXPECT_EQ(json["created"], "1970-01-01T00:00:01.000000Z");
  EXPECT_TRUE(json["finished"].is_null());
  EXPECT_EQ(json["verdicts"]["passing"], 0);
  EXPECT_EQ(json["verdicts"]["failing"], 2);
  EXPECT_EQ(json["tasks"]["dead"], 0);
}

TEST(UnitView, TakesWhatTheDecidingResultSays) {
  TaskResult result;
  result.outcome = Outcome::passing;
  result.started = {1'000'000};
  result.finished = {3'500'000};
  result.evidence.notes = {"a note"};
  result.checks.resize(1);
  UnitResult unit;
  unit.unit.id = {7};
  unit.unit.info = R"({"dir":"sub","module_path":"example.com/m"})";
  unit.unit.verdict = Verdict::passing;
  unit.repository.source = R"({"module":{}})";
  unit.result = to_json(result).dump();

  const auto json = unit_view(unit, kept_json(unit.result));

  EXPECT_EQ(json["module"], "example.com/m");
  EXPECT_EQ(json["dir"], "sub");
  EXPECT_EQ(json["verdict"], "passing");
  EXPECT_EQ(json["seconds"], 2.5);
  EXPECT_EQ(json["notes"][0], "a note");
  EXPECT_EQ(json["checks"].size(), 1U);
  EXPECT_TRUE(json["task"].is_null());
}

TEST(UnitView, AnOpenUnitHasNoVerdictAndDamagedRecordsDoNotThrow) {
  UnitResult unit;
  unit.unit.info = "not json";
  unit.result = "{";

  const auto json = unit_view(unit, kept_json(unit.result));

  EXPECT_TRUE(json["verdict"].is_null());
  EXPECT_TRUE(json["seconds"].is_null());
  EXPECT_EQ(json["findings"].size(), 0U);
}

TEST(EventJson, PutsTheBodyBesideTheHead) {
  EXPECT_EQ(
      event_json({9, {5}, "unit.finished", R"({"dir":"."})", {0}}),
      R"({"v":1,"seq":9,"ts":"1970-01-01T00:00:00.000000Z","type":"unit.finished","campaign":"c-5","dir":"."})");
  EXPECT_EQ(event_json({9, {}, "worker.lost", "{}", {0}}),
            R"({"v":1,"seq":9,"ts":"1970-01-01T00:00:00.000000Z","type":"worker.lost"})");
}

TEST(PageLimit, IsFromOneToTwoHundred) {
  cupel::http::Request request;
  EXPECT_EQ(*page_limit(request), 200U);
  request.query["limit"] = "7";
  EXPECT_EQ(*page_limit(request), 7U);
  for (const char* wrong : {"0", "201", "-1", "x", "7x"}) {
    request.query["limit"] = wrong;
    EXPECT_FALSE(page_limit(request)) << wrong;
  }
}

}  // namespace
}  // namespace cupel::coordinator::http
