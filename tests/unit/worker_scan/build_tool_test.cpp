#include "worker/scan/build_tool.hpp"

#include "tests/support/temp_dir.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <fstream>
#include <optional>
#include <sys/stat.h>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;
using testing::HasSubstr;

/// Does in its /tools what the test prepared.
class FakeRuns final : public RunPort {
 public:
  asio::awaitable<RunReport> run(RunRequest request, std::shared_ptr<CancelToken> /*cancel*/,
                                 OutputSink /*output*/) override {
    asked = request;
    if (in_container) in_container(request.mounts.tools);
    RunReport report;
    report.started = report.end_marker = true;
    report.exit_code = report.engine_exit_code = exit_code;
    report.out.complete = report.err.complete = true;
    report.err.bytes = words;
    co_return report;
  }
  RunRequest asked;
  std::function<void(const std::string& tools)> in_container;
  int exit_code = 0;
  std::string words;
};

ToolBuild build_in(const tests::TempDir& dir) {
  ToolBuild build;
  build.pin = {"example.com/t/cmd/t", "example.com/t", "v1.0.0", "h1:x"};
  build.image = "sha256:1";
  build.go_version = "1.26.8";
  build.modcache = (dir / "m").string();
  build.gocache = (dir / "g").string();
  build.tools = dir.path().string();
  return build;
}

std::variant<BuiltTool, AcquireStopped> run(FakeRuns& runs, ToolBuild build) {
  asio::io_context loop;
  asio::thread_pool files(1);
  std::optional<std::variant<BuiltTool, AcquireStopped>> result;
  asio::co_spawn(loop, build_tool(runs, files, std::move(build), std::make_shared<CancelToken>()),
                 [&](std::exception_ptr error, std::variant<BuiltTool, AcquireStopped> value) {
                   if (error) std::rethrow_exception(error);
                   result = std::move(value);
                 });
  loop.run();
  files.join();
  return std::move(result.value());
}

Reason reason_of(const std::variant<BuiltTool, AcquireStopped>& ended) {
  const auto* stopped = std::get_if<AcquireStopped>(&ended);
  return stopped == nullptr ? Reason::none : stopped->refusal.reason;
}

TEST(BuildTool, RunsGoInstallOfThePinInTheToolProfile) {
  const tests::TempDir dir;
  FakeRuns runs;
  (void)run(runs, build_in(dir));
  EXPECT_EQ(runs.asked.profile, Profile::tool);
  EXPECT_THAT(runs.asked.command,
              ElementsAre("go", "install", "-trimpath", "example.com/t/cmd/t@v1.0.0"));
  EXPECT_EQ(runs.asked.limit, kToolLimit);
  EXPECT_TRUE(runs.asked.mounts.source.empty());
}

TEST(BuildTool, AProgramThatIsNoGoProgramIsRefused) {
  const tests::TempDir dir;
  FakeRuns runs;
  runs.in_container = [](const std::string& tools) {
    std::ofstream(tools + "/t") << "#!/bin/sh\n";
  };
  const auto ended = run(runs, build_in(dir));
  EXPECT_EQ(reason_of(ended), Reason::scan_failed);
  EXPECT_THAT(std::get<AcquireStopped>(ended).message, HasSubstr("ELF"));
}

TEST(BuildTool, WhatAContainerLeftInsteadOfAProgramIsNeverFollowed) {
  const tests::TempDir dir;
  FakeRuns runs;
  runs.in_container = [](const std::string& tools) {
    ASSERT_EQ(symlink("/proc/self/exe", (tools + "/t").c_str()), 0);
  };
  EXPECT_EQ(reason_of(run(runs, build_in(dir))), Reason::scan_failed);
  std::filesystem::remove(dir / "t");
  runs.in_container = [](const std::string& tools) {
    ASSERT_EQ(mkfifo((tools + "/t").c_str(), 0666), 0);
  };
  EXPECT_EQ(reason_of(run(runs, build_in(dir))), Reason::scan_failed);
  std::filesystem::remove(dir / "t");
  runs.in_container = nullptr;
  EXPECT_EQ(reason_of(run(runs, build_in(dir))), Reason::scan_failed);
}

TEST(BuildTool, TheWordsOfAFailureDecideItsReason) {
  EXPECT_EQ(tool_failure("dial tcp: lookup x: no such host"), Reason::upstream);
  EXPECT_EQ(tool_failure("reading https://x/y: 503 Service Unavailable"), Reason::upstream);
  EXPECT_EQ(tool_failure("verifying module: checksum mismatch\nSECURITY ERROR"),
            Reason::checksum_mismatch);
  EXPECT_EQ(tool_failure("requires go >= 1.26.0 (running go 1.24.13; GOTOOLCHAIN=local)"),
            Reason::scan_failed);
  const tests::TempDir dir;
  FakeRuns runs;
  runs.exit_code = 1;
  runs.words = "go: x: i/o timeout";
  EXPECT_EQ(reason_of(run(runs, build_in(dir))), Reason::upstream);
}

}  // namespace
}  // namespace cupel::worker
