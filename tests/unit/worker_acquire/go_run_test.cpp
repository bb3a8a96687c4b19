#include "worker/acquire/go_run.hpp"

#include "tests/unit/worker_acquire/scripted_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::worker {
namespace {

using testing::ElementsAre;

std::string verdict(const RunReport& report) {
  const auto stopped = unproven(report);
  if (!stopped) return "proven";
  if (stopped->kind == AcquireStopped::Kind::interrupted) return "interrupted";
  return std::string(name(stopped->refusal.reason));
}

TEST(GoRun, OnlyAWholeRunProvesAnything) {
  EXPECT_EQ(verdict(ended(0)), "proven");
  EXPECT_EQ(verdict(ended(1)), "proven") << "a failure of its own is an answer";
  RunReport report = ended(0);
  report.error = Error{Errc::engine_timeout, "x", {}, {}};
  EXPECT_EQ(verdict(report), "interrupted");
  report = ended(0);
  report.end_marker = false;
  EXPECT_EQ(verdict(report), "end_marker_missing");
  report = ended(0);
  report.ended_by = EndedBy::check_limit;
  EXPECT_EQ(verdict(report), "timeout");
  report.ended_by = EndedBy::cancelled;
  EXPECT_EQ(verdict(report), "interrupted");
  report.ended_by = EndedBy::watcher_disk;
  EXPECT_EQ(verdict(report), "resource_disk");
  report = ended(1);
  report.oom_kills = 1;
  EXPECT_EQ(verdict(report), "resource_memory");
  report = ended(1);
  report.tmp_full = true;
  EXPECT_EQ(verdict(report), "resource_disk");
  report = ended(1);
  report.pids_limit_hit = true;
  EXPECT_EQ(verdict(report), "resource_pids");
  report = ended(-1);
  report.signal = 11;
  EXPECT_EQ(verdict(report), "aborted");
}

TEST(GoRun, TheRequestIsThatOfAnAcquireRun) {
  AcquireFixture fixture;
  auto context = fixture.context();
  context.settings.go_private = "ex.test/*";
  context.settings.acquire_limit_s = 7;
  context.policy.fixture_proxy = "/p";
  const auto request =
      go_request(context, {"/s", "/m", "/g", "/st"}, {{"mod", "verify"}, "sub", "go.work"});
  EXPECT_EQ(request.profile, Profile::acquire);
  EXPECT_THAT(request.command, ElementsAre("go", "mod", "verify"));
  EXPECT_EQ(request.workdir, "sub");
  EXPECT_EQ(request.mounts.source, "/s");
  EXPECT_EQ(request.mounts.staging, "/st");
  EXPECT_EQ(request.mounts.fixture_proxy, "/p");
  EXPECT_EQ(request.mounts.tools, "");
  EXPECT_EQ(request.go.go_private, "ex.test/*");
  EXPECT_TRUE(request.go.workspace_staged);
  EXPECT_EQ(request.limit, std::chrono::seconds(7));
}

TEST(GoRun, TheDownloadCacheIsForCampaignsWithoutPrivateModules) {
  AcquireFixture fixture;
  auto context = fixture.context();
  context.policy.downloads = "/d";
  const auto downloads = [](const AcquireContext& of) {
    return go_request(of, {"/s", "/m", "/g", "/st"}, {{"mod", "verify"}, ".", ""}).mounts.downloads;
  };
  context.policy.fixture_proxy.clear();
  EXPECT_EQ(downloads(context), "/d");
  context.settings.go_private = "ex.test/*";
  EXPECT_EQ(downloads(context), "");
  context.settings.go_private.clear();
  context.settings.go_nosumdb = "ex.test/*";
  EXPECT_EQ(downloads(context), "");
  context.settings.go_nosumdb.clear();
  context.policy.fixture_proxy = "/p";
  EXPECT_EQ(downloads(context), "");
}

TEST(GoRun, NobodySeesWhereManifestsWereStaged) {
  EXPECT_EQ(without_staging("go: /staging/go.mod requires go >= 1.99\n/staging/go.mod:5: x"),
            "go: go.mod requires go >= 1.99\ngo.mod:5: x");
}

}  // namespace
}  // namespace cupel::worker
