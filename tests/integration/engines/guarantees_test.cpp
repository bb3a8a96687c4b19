// What design sections 3 and 4 promise, with every engine.
#include "tests/integration/engines/engine_test.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::test {
namespace {

using ::testing::HasSubstr;
using worker::EndedBy;
using worker::Profile;
using worker::RunReport;
using worker::RunRequest;

void expect_plain_success(const RunReport& report) {
  EXPECT_FALSE(report.error) << report.error->text();
  EXPECT_TRUE(report.started);
  EXPECT_TRUE(report.end_marker);
  EXPECT_EQ(report.ended_by, EndedBy::itself);
  EXPECT_EQ(report.exit_code, 0) << report.out.bytes << report.err.bytes;
  EXPECT_EQ(report.engine_exit_code, 0);
  EXPECT_TRUE(report.out.complete);
  EXPECT_TRUE(report.err.complete);
  EXPECT_FALSE(report.leftover_processes);
}

TEST_P(EngineTest, ARunReportsBothStreamsAndItsExitCode) {
  const RunReport report = run(shell("echo to-out; echo to-err >&2; exit 7"));

  EXPECT_FALSE(report.error) << report.error->text();
  EXPECT_EQ(report.exit_code, 7);
  EXPECT_EQ(report.engine_exit_code, 7);
  EXPECT_EQ(report.out.bytes, "to-out\n");
  EXPECT_EQ(report.err.bytes, "to-err\n");
  EXPECT_EQ(report.out.total, 7U);
  EXPECT_TRUE(report.out.complete && report.err.complete);
  EXPECT_FALSE(report.out.truncated || report.err.truncated);
}

TEST_P(EngineTest, OutputIsByteTrueEvenWhenItIsNoText) {
  const RunReport report = run(shell("printf '\\377\\376\\036cupel-end\\036\\000x'"));

  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes, std::string("\377\376\036cupel-end\036\000x", 15));
}

TEST_P(EngineTest, ExecuteHasNoNetworkButLoopback) {
  const RunReport report =
      run(shell("grep -c : /proc/net/dev; grep -c lo: /proc/net/dev; cat /proc/net/route | wc -l"));

  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes, "1\n1\n1\n");
  EXPECT_EQ(report.egress, "none");
}

TEST_P(EngineTest, SourceCacheAndRootAreReadOnlyAndBuildCacheAndTmpAreNot) {
  const RunReport report =
      run(shell("for d in /src /modcache / /bin /etc /dev /sys /proc/sys /tools; do touch $d/x "
                "2>/dev/null && echo wrote $d; done; "
                "touch /gocache/x && touch /tmp/x && echo ok"));

  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes, "ok\n");
  EXPECT_TRUE(std::filesystem::exists(lab->mounts.gocache + "/x"));
  EXPECT_FALSE(std::filesystem::exists(lab->mounts.source + "/x"));
}

TEST_P(EngineTest, TheEnvironmentIsBuiltFromScratch) {
  ::setenv("CUPEL_TEST_SECRET", "from-the-host", 1);

  const RunReport report = run(shell("env"));

  expect_plain_success(report);
  std::vector<std::string> names;
  std::istringstream lines(report.out.bytes);
  for (std::string line; std::getline(lines, line);)
    names.push_back(line.substr(0, line.find('=')));
  std::ranges::sort(names);
  const std::vector<std::string> expected = {"CGO_ENABLED", "GIT_TERMINAL_PROMPT",
                                             "GOAUTH",      "GOCACHE",
                                             "GOENV",       "GOFLAGS",
                                             "GOINSECURE",  "GOMAXPROCS",
                                             "GOMEMLIMIT",  "GOMODCACHE",
                                             "GONOPROXY",   "GONOSUMDB",
                                             "GOPATH",      "GOPRIVATE",
                                             "GOPROXY",     "GOSUMDB",
                                             "GOTMPDIR",    "GOTOOLCHAIN",
                                             "GOVCS",       "GOWORK",
                                             "HOME",        "HOSTNAME",
                                             "PATH",        "PWD",
                                             "SHLVL",       "TMPDIR",
                                             "USER"};  // PWD and SHLVL are the shell's own
  EXPECT_EQ(names, expected);
  EXPECT_THAT(report.out.bytes, HasSubstr("GOFLAGS=-mod=readonly -buildvcs=false\n"));
  EXPECT_THAT(report.out.bytes, HasSubstr("GOPROXY=off\n"));
}

TEST_P(EngineTest, NothingRunsAsRootOrCanBecomeIt) {
  const RunReport report =
      run(shell("id -u; id -g; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | "
                "tr -d '\\t'"));

  expect_plain_success(report);
  const std::string told = keeps(Promise::no_new_privs_told) ? "NoNewPrivs:1\n" : std::string();
  EXPECT_EQ(report.out.bytes, "65534\n65534\nCapEff:0000000000000000\nCapBnd:0000000000000000\n" +
                                  told + "Seccomp:2\n");
}

TEST_P(EngineTest, TheWrapperCannotBeReadByWhatItRuns) {
  const RunReport report = run(
      shell("( : </proc/1/mem ) 2>/dev/null && echo memory; ls /proc/1/fd >/dev/null 2>&1 && echo "
            "files; [ $(cat /proc/1/environ 2>/dev/null | wc -c) -eq 0 ] || echo variables; echo "
            "alive"));

  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes,
            keeps(Promise::out_of_sight) ? "alive\n" : "files\nvariables\nalive\n");
}

TEST_P(EngineTest, TheWrapperCannotBeSignalledByWhatItRuns) {
  const RunReport report =
      run(shell("for s in TERM KILL STOP QUIT INT; do kill -$s 1; done; echo alive"));

  if (!keeps(Promise::out_of_reach)) return expect_no_proof(report);
  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes, "alive\n");
}

TEST_P(EngineTest, AcquireWithAFixtureProxyHasNoNetworkAndAWritableCache) {
  RunRequest request = shell(
      "grep -c : /proc/net/dev; cat /proxy/list; touch /modcache/new && touch /gocache/new; "
      "touch /proxy/no 2>/dev/null || touch /src/no 2>/dev/null || echo ro; echo $GOPROXY "
      "$GOSUMDB");
  request.profile = Profile::acquire;
  request.mounts.fixture_proxy = lab->scratch.open_dir("proxy");
  write_file(request.mounts.fixture_proxy + "/list", "v1.0.0\n");

  const RunReport report = run(request);

  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes, "1\nv1.0.0\nro\nfile:///proxy off\n");
  EXPECT_TRUE(std::filesystem::exists(lab->mounts.modcache + "/new"));
}

TEST_P(EngineTest, ToolHasNoSourceAndWritesItsTools) {
  RunRequest request =
      shell("ls /src 2>/dev/null; touch /tools/made; echo $GOBIN $PWD; readlink /proc/self/ns/net");
  request.profile = Profile::tool;
  request.mounts.source.clear();
  request.mounts.tools = lab->scratch.open_dir("tools");

  const RunReport report = run(request);

  expect_plain_success(report);
  EXPECT_THAT(report.out.bytes, HasSubstr("/tools /tmp\n"));
  EXPECT_EQ(report.egress, "configured");
  const std::string of_the_host = std::filesystem::read_symlink("/proc/self/ns/net").string();
  EXPECT_EQ(report.out.bytes.ends_with(of_the_host + "\n"), !keeps(Promise::own_network))
      << report.out.bytes;
  EXPECT_TRUE(std::filesystem::exists(request.mounts.tools + "/made"));
}

TEST_P(EngineTest, ExecuteReadsToolsAndDatabaseAndCannotChangeThem) {
  RunRequest request = shell(
      "cat /tools/scanner /vulndb/index; touch /tools/x 2>/dev/null || touch /vulndb/x 2>/dev/null "
      "|| "
      "rm /tools/scanner 2>/dev/null || echo ro");
  request.mounts.tools = lab->scratch.open_dir("tools");
  request.mounts.vulndb = lab->scratch.open_dir("vulndb");
  write_file(request.mounts.tools + "/scanner", "tool ");
  write_file(request.mounts.vulndb + "/index", "db\n");

  const RunReport report = run(request);

  expect_plain_success(report);
  EXPECT_EQ(report.out.bytes, "tool db\nro\n");
}

TEST_P(EngineTest, TmpIsExecutableAndBounded) {
  const RunReport report =
      run(shell("printf '#!/bin/sh\\necho ran\\n' > /tmp/p && chmod +x /tmp/p && /tmp/p; "
                "dd if=/dev/zero of=/tmp/big bs=1048576 count=64 2>/dev/null; echo dd=$?"));

  EXPECT_EQ(report.out.bytes, "ran\ndd=1\n");
  EXPECT_TRUE(report.tmp_full);
  EXPECT_EQ(report.oom_kills, 0U);
}

TEST_P(EngineTest, SharedMemoryIsBoundedAndNothingElseOfDevCanBeWritten) {
  const RunReport report =
      run(shell("dd if=/dev/zero of=/dev/shm/big bs=1048576 count=100 2>/dev/null; echo dd=$?; "
                "mkdir /dev/x 2>/dev/null || echo ro; echo x > /dev/null && echo null"));

  EXPECT_EQ(report.out.bytes, "dd=1\nro\nnull\n");
}

TEST_P(EngineTest, ARunThatDemandsEnforcedEgressIsRefusedWhereNobodyEnforcesIt) {
  RunRequest request = shell("true");
  request.profile = Profile::acquire;
  request.enforced_egress = true;

  const RunReport report = run(request);

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::unsafe_sandbox);
  EXPECT_FALSE(report.started);
}

TEST_P(EngineTest, NoNamespaceOfItsOwnAndNoMountCanBeMade) {
  const RunReport report = run(
      shell("unshare -U true 2>/dev/null && echo user; unshare -n true 2>/dev/null && echo net; "
            "mount -t tmpfs none /tmp 2>/dev/null && echo mounted; echo end"));

  EXPECT_EQ(report.out.bytes, "end\n");
}

TEST_P(EngineTest, NothingOfTheHostIsSeenButWhatIsMounted) {
  // A file of this machine in a folder that most machines have, and the processes of this machine.
  const std::string file = lab->scratch.path() + "/of-the-host";
  write_file(file, "here\n");

  const RunReport report =
      run(shell("ls '" + file + "' 2>/dev/null; set -- /proc/[0-9]*; echo $#"));

  // The wrapper and the shell.
  EXPECT_EQ(report.out.bytes, "2\n");
}

TEST_P(EngineTest, WhatARunWritesBelongsToNobodyWhereTheWorkerIsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "files of runs are the worker's own";
  const RunReport report = run(shell("touch /gocache/x; chmod 0600 /src/go.mod 2>&1 | wc -l"));

  struct stat facts{};
  ASSERT_EQ(::stat((lab->mounts.gocache + "/x").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 65534U);
  EXPECT_EQ(report.out.bytes, "1\n");
}

TEST_P(EngineTest, RolesThatTheProfileHasNotAreRefusedBeforeAnythingRuns) {
  RunRequest request = shell("true");
  request.mounts.staging = lab->scratch.open_dir("staging");

  const RunReport report = run(request);

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::refused_by_policy);
}

TEST_P(EngineTest, AnImageThatIsNotHereIsNeverPulled) {
  RunRequest request = shell("true");
  request.image = "sha256:" + std::string(64, '0');

  const RunReport report = run(request);

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::image_missing);
}

TEST_P(EngineTest, AMountWhoseContentIsNotTheHostsIsAnErrorThatNamesIt) {
  // What a container sees of a mount point below another mount is not what the host has there.
  RunRequest request = shell("true");
  request.mounts.modcache =
      lab->mounts.gocache;  // one directory in two roles: both markers, one place

  const RunReport report = run(request);

  EXPECT_TRUE(report.error);
}

TEST_P(EngineTest, NoMarkerStaysInAMount) {
  const RunReport report = run(shell("ls -a /gocache /modcache | grep -c cupel-mount"));

  EXPECT_EQ(report.out.bytes, "2\n");
  EXPECT_TRUE(std::filesystem::is_empty(lab->mounts.gocache));
  EXPECT_TRUE(std::filesystem::is_empty(lab->mounts.modcache));
}

}  // namespace
}  // namespace cupel::test
