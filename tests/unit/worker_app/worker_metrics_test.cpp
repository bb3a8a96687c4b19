#include "worker/app/worker_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

namespace cupel::worker {
namespace {

using ::testing::IsEmpty;

// Every series of the text form (name and labels) with its value.
std::map<std::string, double> series(app::Metrics& metrics) {
  std::map<std::string, double> found;
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto space = line.rfind(' ');
    found.emplace(line.substr(0, space), std::stod(line.substr(space + 1)));
  }
  return found;
}

std::set<std::string> names(const std::map<std::string, double>& of) {
  std::set<std::string> all;
  for (const auto& [name, value] : of) all.insert(name);
  return all;
}

class WorkerMetricsTest : public ::testing::Test {
 protected:
  // Each word that an observation can carry, once.
  void see_everything() {
    for (const auto* call :
         {"ping",         "version",       "info",          "create",         "attach",
          "start",        "wait",          "kill",          "logs",           "inspect",
          "remove",       "list",          "image_inspect", "image_list",     "image_import",
          "image_pull",   "image_tag",     "image_remove",  "network_create", "network_inspect",
          "network_list", "network_remove"}) {
      for (const auto outcome : {docker::CallOutcome::ok, docker::CallOutcome::refused,
                                 docker::CallOutcome::timeout, docker::CallOutcome::unreachable,
                                 docker::CallOutcome::protocol, docker::CallOutcome::cancelled}) {
        metrics_.engine_call({.call = call, .outcome = outcome, .elapsed = Duration(1000)});
      }
    }
    for (const auto profile :
         {Profile::acquire, Profile::mutate, Profile::execute, Profile::tool}) {
      for (const auto ended : {EndedBy::itself, EndedBy::check_limit, EndedBy::wrapper_limit,
                               EndedBy::cancelled, EndedBy::watcher_disk, EndedBy::engine}) {
        metrics_.run_ended(
            {.profile = profile, .ended_by = ended, .wait_breaks = 1, .wall = Duration(1000)});
      }
    }
    for (std::size_t kind = 0; kind < count_of<TaskKind>(); ++kind) {
      metrics_.attempt_started(static_cast<TaskKind>(kind));
      for (std::size_t outcome = 0; outcome < count_of<Outcome>(); ++outcome) {
        for (const auto ending : {Ending::completed, Ending::interrupted, Ending::lost_workspace}) {
          metrics_.attempt_finished(static_cast<TaskKind>(kind), static_cast<Outcome>(outcome),
                                    ending);
        }
      }
    }
    metrics_.output_truncated(Stream::out);
    metrics_.output_truncated(Stream::err);
    metrics_.reaper_pass({.listed = 3, .removed = 2, .gone = 1, .failed = 1, .removed_foreign = 1},
                         false, WallTime{5});
    metrics_.reaper_pass({}, true, WallTime{5});
    for (const bool yes : {true, false}) {
      metrics_.mount_probe(yes);
      metrics_.module_cache(yes);
      metrics_.build_cache_removed(yes);
      metrics_.engine_up(yes);
    }
    metrics_.download_cache(
        {.versions = 1, .bytes = 2, .changed = 3, .forged = 4, .unknown = 5, .failed = 6}, 7);
    metrics_.log_uploaded(7);
    for (std::size_t why = 0; why < egress::kRefusedCount; ++why) {
      metrics_.egress_refused(static_cast<egress::Refused>(why));
    }
    metrics_.egress_bytes(11);
    metrics_.egress_enforced(true);
    metrics_.upstream_paused(true);
    metrics_.agent({}, WallTime{9});
    metrics_.data_dir(1, 2);
    metrics_.outbox({.bytes = 3, .results = 1});
    metrics_.containers_running(2);
    metrics_.containers_unremoved(1);
  }

  app::Metrics base_{"worker", "0", "test"};
  WorkerMetrics metrics_{base_, docker::EngineBudgets{}};
};

TEST_F(WorkerMetricsTest, EverySeriesExistsBeforeItsFirstEvent) {
  const auto born = names(series(base_));
  see_everything();
  std::set<std::string> late = names(series(base_));
  for (const auto& name : born) late.erase(name);
  EXPECT_THAT(late, IsEmpty()) << "a counter that is born at 1 is invisible to increase()";
}

TEST_F(WorkerMetricsTest, EveryCounterIsBornAtZeroAndMoves) {
  const auto born = series(base_);
  see_everything();
  const auto later = series(base_);
  std::size_t counters = 0;
  for (const auto& [name, value] : born) {
    const std::string family = name.substr(0, name.find('{'));
    if (!family.ends_with("_total")) continue;
    if (family.starts_with("process_") || family == "cupel_log_messages_total") continue;
    ++counters;
    EXPECT_EQ(value, 0) << name;
    EXPECT_GT(later.at(name), 0) << name << " counts nothing";
  }
  EXPECT_GT(counters, 100U);
}

TEST_F(WorkerMetricsTest, AnUnknownHourIsNoSuccessOfTheReaper) {
  EXPECT_EQ(series(base_).at("cupel_orphan_sweep_last_success_timestamp_seconds"), 0);
  metrics_.reaper_pass({}, true, WallTime{5'000'000});
  EXPECT_EQ(series(base_).at("cupel_orphan_sweep_last_success_timestamp_seconds"), 0);
  metrics_.reaper_pass({}, false, WallTime{5'000'000});
  EXPECT_EQ(series(base_).at("cupel_orphan_sweep_last_success_timestamp_seconds"), 5);
}

}  // namespace
}  // namespace cupel::worker
