#include "cli/core/fleet_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cupel::cli {
namespace {

using ::testing::HasSubstr;

json worker() {
  return {{"id", "w-1"},          {"name", "build-1"},  {"state", "idle"},   {"slots", 2},
          {"running", 0},         {"engine", "docker"}, {"version", "1"},    {"host", "h"},
          {"last_seen", "t"},     {"blocked", ""},      {"draining", false}, {"drain_by", nullptr},
          {"quarantine", nullptr}};
}

TEST(WorkerNote, IsEmptyForAWorkerThatJustWorks) {
  EXPECT_EQ(worker_note(worker()), "");
}

TEST(WorkerNote, NamesTheDrainItsDeadlineAndTheQuarantine) {
  json one = worker();
  one["draining"] = true;
  EXPECT_EQ(worker_note(one), "drained");
  one["drain_by"] = "2026-01-01T00:00:00Z";
  one["quarantine"] = {{"by", "fleet"},
                       {"why", "5 of 6 failed"},
                       {"since", "2026-01-01T00:00:00Z"},
                       {"probe_at", "2026-01-01T00:01:00Z"},
                       {"probing", false}};

  EXPECT_EQ(worker_note(one),
            "drained by 2026-01-01T00:00:00Z; quarantine by the fleet since 2026-01-01T00:00:00Z: "
            "5 of 6 failed; probed at 2026-01-01T00:01:00Z");
  one["quarantine"]["probing"] = true;
  EXPECT_THAT(worker_note(one), HasSubstr("a probe is under way"));
}

TEST(OrderedWorker, SaysWhatAWorkerThatHasNotHeardOfItYetStillDoes) {
  json one = worker();
  EXPECT_EQ(ordered_worker(one, true), "w-1 (build-1): idle\n");
  one["state"] = "draining";

  EXPECT_EQ(ordered_worker(one, true),
            "w-1 (build-1): undrained; at its last heartbeat it still drained\n");
  one["draining"] = true;
  EXPECT_EQ(ordered_worker(one, false), "w-1 (build-1): draining, drained\n");
}

TEST(LabelsFrom, TakesEachKeyOnce) {
  const std::vector<std::string> good = {"zone=a", "disk=ssd=fast"};
  const std::vector<std::string> twice = {"zone=a", "zone=b"};
  const std::vector<std::string> no_value = {"zone"};

  EXPECT_EQ(labels_from(good).value(), (json{{"zone", "a"}, {"disk", "ssd=fast"}}));
  EXPECT_EQ(labels_from(twice).error().code, Errc::usage);
  EXPECT_THAT(labels_from(twice).error().what, HasSubstr("\"zone\" twice"));
  EXPECT_EQ(labels_from(no_value).error().code, Errc::usage);
}

TEST(WorkerTable, HasALineForEachWorker) {
  const std::string table = worker_table(json::array({worker(), worker()}), 0);

  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
}

TEST(ExplanationText, BeginsWithTheStateAndListsTheReasons) {
  const json explanation = {{"task", "t-1"},
                            {"unit", "u-2"},
                            {"state", "queued"},
                            {"reasons",
                             {{{"cause", "draining"},
                               {"text", "worker a is drained by the operator"},
                               {"worker", "a"},
                               {"until", nullptr}}}}};

  const std::string text = explanation_text(explanation);

  EXPECT_THAT(text, ::testing::StartsWith("t-1 of u-2 is queued\n"));
  EXPECT_THAT(text, HasSubstr("draining"));
  EXPECT_THAT(text, HasSubstr("worker a is drained by the operator"));
}

TEST(CampaignExplanationText, HasALineForEachCause) {
  const json explanation = {{"campaign", "c-1"},
                            {"state", "running"},
                            {"running", 0},
                            {"waiting", 1200},
                            {"examined", 1000},
                            {"groups",
                             {{{"cause", "disk"},
                               {"text", "worker a is below its disk watermark"},
                               {"worker", "a"},
                               {"until", nullptr},
                               {"tasks", 990},
                               {"example", "t-7"}},
                              {{"cause", "back_off"},
                               {"text", "failed before"},
                               {"worker", nullptr},
                               {"until", "2026-01-01T00:00:00Z"},
                               {"tasks", 10},
                               {"example", "t-8"}}}}};

  const std::string text = campaign_explanation_text(explanation);

  EXPECT_THAT(text, ::testing::StartsWith("c-1 is running: 0 tasks run, 1200 tasks wait\n"));
  EXPECT_THAT(text, HasSubstr("1000 were looked at"));
  EXPECT_THAT(text, ::testing::ContainsRegex("990 +disk +.*below its disk watermark +t-7"));
  EXPECT_EQ(standstill(explanation),
            "nothing runs: worker a is below its disk watermark (and 1 more reasons)");
  json running = explanation;
  running["running"] = 1;
  EXPECT_THAT(campaign_explanation_text(running),
              HasSubstr("running: 1 task runs, 1200 tasks wait"));
  EXPECT_EQ(standstill(running), std::nullopt);
  EXPECT_EQ(standstill({{"running", 0}, {"groups", json::array()}}), std::nullopt);
}

TEST(LetterTable, CountsTheAttempts) {
  const json letters = {{{"task", "t-1"},
                         {"campaign", "c-1"},
                         {"kind", "execute"},
                         {"state", "open"},
                         {"reason", "engine"},
                         {"attempts", {{{"how", "engine"}}, {{"how", "lost"}}}},
                         {"died", "t"},
                         {"repository", "r"},
                         {"message", "given up\nNo such container"}}};

  const std::string table = letter_table(letters, 0);

  EXPECT_THAT(table, ::testing::ContainsRegex("engine +2 +t +r +given up"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2)
      << "a line for the heads, one a letter";
}

}  // namespace
}  // namespace cupel::cli
