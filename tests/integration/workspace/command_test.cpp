// How a command of the workspace scope begins and ends, and what is left of it.
#include "common/bubblewrap/workspace_cache.hpp"
#include "common/bubblewrap/workspace_facts.hpp"
#include "common/fs/files.hpp"
#include "tests/integration/workspace/workspace.hpp"
#include "tests/support/processes.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::test {
namespace {

using bubblewrap::WorkspaceEnd;
using ::testing::HasSubstr;

class WorkspaceCommandTest : public WorkspaceTest {};

TEST_F(WorkspaceCommandTest, ExitCodesAndSignalsOfTheCommandAreItsOwn) {
  for (const auto& [script, code] : std::map<std::string, int>{
           {"exit 0", 0}, {"exit 7", 7}, {"exit 255", 255}, {"kill -TERM $$", 143}}) {
    const Outcome seen = shell(script);
    EXPECT_EQ(seen.report.ended_by, WorkspaceEnd::command) << script;
    EXPECT_EQ(seen.report.exit_code, code) << script;
  }
}

TEST_F(WorkspaceCommandTest, AProgramThatIsNotThereDidNotRun) {
  const Outcome seen = run({"no-such-program"});
  EXPECT_EQ(seen.report.ended_by, WorkspaceEnd::no_start);
  EXPECT_THAT(seen.err, HasSubstr("no-such-program"));
}

TEST_F(WorkspaceCommandTest, TheWorkingDirectoryAndTheStreamsAreTheCallers) {
  std::filesystem::create_directories(project + "/sub");
  const Outcome seen = shell("pwd; echo problem >&2", [this](auto& wanted) {
    wanted.workdir = project + "/sub";
    wanted.project.clear();
  });
  EXPECT_EQ(seen.out, project + "/sub\n");
  EXPECT_EQ(seen.err, "problem\n");
  EXPECT_EQ(seen.report.project, project) << "the folder with .git";
}

TEST_F(WorkspaceCommandTest, ASignalReachesTheCommandAndItsChildren) {
  auto wanted = request();
  wanted.command = {"sh", "-c",
                    "trap 'echo told > told; exit 9' TERM; touch ready; sleep 60 & wait"};
  auto run = bubblewrap::WorkspaceRun::start(wanted, environment, {.in = 0, .out = 2, .err = 2});
  ASSERT_TRUE(run) << run.error().text();
  for (int i = 0; i < 200 && !std::filesystem::exists(project + "/ready"); ++i)
    (void)poll(nullptr, 0, 50);

  run->signal(SIGTERM);
  const auto report = run->finish();

  EXPECT_EQ(report.exit_code, 9);
  EXPECT_TRUE(std::filesystem::exists(project + "/told"));
  EXPECT_LT(report.wall, std::chrono::seconds(30));
}

TEST_F(WorkspaceCommandTest, TheTimeLimitEndsWhatIgnoresSignals) {
  const Outcome seen = shell("trap '' TERM INT; setsid sleep 100 & sleep 100",
                             [](auto& wanted) { wanted.limit = std::chrono::seconds(1); });
  EXPECT_EQ(seen.report.ended_by, WorkspaceEnd::limit);
  EXPECT_LT(seen.report.wall, std::chrono::seconds(30));
}

TEST_F(WorkspaceCommandTest, NothingIsLeftOfACommandThatIsEndedWhileItIsMade) {
  // bubblewrap's child promises to die with it only after a while; an early kill left it behind.
  const std::string word = "60." + std::to_string(::getpid());
  for (int round = 0; round < 40; ++round) {
    auto wanted = request();
    wanted.command = {"sleep", word};
    auto run = bubblewrap::WorkspaceRun::start(wanted, environment, {});
    ASSERT_TRUE(run) << run.error().text();
    (void)poll(nullptr, 0, round / 4);
  }
  for (int i = 0; i < 100 && !tests::command_lines_with(word).empty(); ++i)
    (void)poll(nullptr, 0, 20);
  EXPECT_TRUE(tests::command_lines_with(word).empty());
}

TEST_F(WorkspaceCommandTest, QuotasEndWhatGrowsBeyondThem) {
  const std::string flood = "i=0; while :; do head -c 1000000 /dev/zero > ";
  const Outcome by_project = shell(flood + "f$i; i=$((i+1)); done",
                                   [](auto& wanted) { wanted.quota.project_bytes = 8U << 20U; });
  const Outcome by_cache = shell(flood + "$GOCACHE/f$i; i=$((i+1)); done",
                                 [](auto& wanted) { wanted.quota.cache_bytes = 8U << 20U; });
  EXPECT_EQ(by_project.report.ended_by, WorkspaceEnd::quota);
  EXPECT_EQ(by_cache.report.ended_by, WorkspaceEnd::quota);

  auto wanted = request();
  wanted.command = {"true"};
  wanted.quota.cache_bytes = 8U << 20U;
  const auto full = bubblewrap::WorkspaceRun::start(wanted, environment, {});
  ASSERT_FALSE(full) << "the caches are beyond the quota already";
  EXPECT_EQ(full.error().code, Errc::too_large);
  EXPECT_THAT(full.error().hint, HasSubstr("sandbox clean"));
}

TEST_F(WorkspaceCommandTest, CleaningTakesTheCachesButNotOfACommandThatRuns) {
  EXPECT_EQ(shell("mkdir -p $GOMODCACHE/m && echo x > $GOMODCACHE/m/f && chmod 555 $GOMODCACHE/m")
                .report.exit_code,
            0);
  const auto root = bubblewrap::cache_root(environment);
  ASSERT_TRUE(root);
  {
    auto wanted = request();
    wanted.command = {"sleep", "60"};
    const auto running = bubblewrap::WorkspaceRun::start(wanted, environment, {});
    ASSERT_TRUE(running);
    const auto kept = bubblewrap::clean_caches(bubblewrap::list_caches(*root));
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->in_use.size(), 1U);
    EXPECT_TRUE(kept->removed.empty());
  }

  const auto cleaned = bubblewrap::clean_caches(bubblewrap::list_caches(*root));

  ASSERT_TRUE(cleaned) << cleaned.error().text();
  ASSERT_EQ(cleaned->removed.size(), 1U);
  EXPECT_EQ(cleaned->removed.front().project, project);
  EXPECT_GT(cleaned->freed.inodes, 0U);
  EXPECT_TRUE(bubblewrap::list_caches(*root).empty());
}

TEST_F(WorkspaceCommandTest, CachesInsideOfTheProjectAreRefused) {
  environment["XDG_CACHE_HOME"] = project + "/.cache";
  auto wanted = request();
  wanted.command = {"true"};
  const auto refused = bubblewrap::WorkspaceRun::start(wanted, environment, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused_by_policy);
  EXPECT_FALSE(std::filesystem::exists(project + "/.cache"));
}

/// `cupel` itself, with its standard output.
int cupel(const WorkspaceTest&, const std::string& home, const std::string& project,
          const std::string& arguments, std::string& out) {
  const std::string file = home + "/cli-out";
  const std::string line = "cd " + project + " && HOME=" + home + " XDG_CACHE_HOME=" + home +
                           "/.cache " + CUPEL_BINARY_DIR + "/bin/cupel sandbox " + arguments +
                           " > " + file;
  const int status = std::system(line.c_str());
  out = fs::read_file(file, 1U << 20U).value();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(WorkspaceCommandTest, TheCommandLineKeepsItsContract) {
  std::string out;
  EXPECT_EQ(cupel(*this, home, project, "-- sh -c 'echo out; exit 3'", out), 3);
  EXPECT_EQ(out, "out\n");
  EXPECT_EQ(cupel(*this, home, project, "--timeout 1s -- sleep 60 2>/dev/null", out), 124);
  EXPECT_EQ(cupel(*this, home, project, "--allow-home nothing -- true 2>/dev/null", out), 125);
  EXPECT_EQ(cupel(*this, home, project, "-- clean --all 2>/dev/null", out), 125)
      << "behind -- it is a command, which isn't there";

  const std::string report = home + "/report.json";
  EXPECT_EQ(
      cupel(*this, home, project, "--report " + report + " --env A=b -- sh -c 'echo $A'", out), 0);
  EXPECT_EQ(out, "b\n");
  const auto told = nlohmann::json::parse(std::ifstream(report));
  EXPECT_EQ(told.at("ended_by"), "command");
  EXPECT_EQ(told.at("exit_code"), 0);
  for (const auto& one : told.at("guarantees")) {
    if (one.at("name") == "memory") EXPECT_EQ(one.at("state"), "not_enforced");
  }

  EXPECT_EQ(cupel(*this, home, project, "clean", out), 0);
  EXPECT_THAT(out, HasSubstr("of 1 projects"));
}

}  // namespace
}  // namespace cupel::test
