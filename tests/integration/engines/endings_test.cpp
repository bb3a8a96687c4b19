// Every way in which a run can end, with every engine.
#include "tests/integration/engines/engine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <gmock/gmock.h>

#include <chrono>
#include <sys/resource.h>

namespace cupel::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using worker::CancelToken;
using worker::EndedBy;
using worker::RunReport;
using worker::RunRequest;

/// Cancels the token once the run has printed something.
worker::OutputSink cancel_at_output(std::shared_ptr<CancelToken> token) {
  return [token](Stream, std::uint64_t, std::string_view) { token->cancel(); };
}

TEST_P(EngineTest, TheCheckLimitKillsWhatIgnoresEverySignal) {
  RunRequest request = shell("trap '' TERM INT QUIT HUP; echo begun; while :; do sleep 1; done");
  request.limit = 1s;

  const RunReport report = run(request);

  EXPECT_EQ(report.ended_by, EndedBy::check_limit);
  EXPECT_TRUE(report.end_marker);
  EXPECT_EQ(report.out.bytes, "begun\n");
  EXPECT_LT(report.wall, 5s);
  EXPECT_TRUE(lab->left_behind().empty());
}

TEST_P(EngineTest, TheDumpComesBeforeTheKill) {
  RunRequest request =
      shell("trap 'echo dumped; exit 2' QUIT; echo begun; while :; do sleep 0.1; done");
  request.limit = 1s;
  request.dump_goroutines = true;

  const RunReport report = run(request);

  EXPECT_EQ(report.ended_by, EndedBy::check_limit);
  EXPECT_EQ(report.out.bytes, "begun\ndumped\n");
}

TEST_P(EngineTest, ACancelledRunEndsAtOnceAndIsRemoved) {
  const auto token = std::make_shared<CancelToken>();
  const auto started = std::chrono::steady_clock::now();

  const RunReport report = run(shell("echo begun; sleep 60"), token, cancel_at_output(token));

  EXPECT_EQ(report.ended_by, EndedBy::cancelled);
  EXPECT_TRUE(report.end_marker);
  EXPECT_LT(std::chrono::steady_clock::now() - started, 15s);
  EXPECT_TRUE(lab->left_behind().empty());
}

TEST_P(EngineTest, ACancelledCallerStillCleansUp) {
  boost::asio::cancellation_signal stop;
  bool ended = false;
  RunReport report;
  boost::asio::co_spawn(lab->io,
                        lab->port().run(shell("echo begun; sleep 60"), nullptr,
                                        [&stop](Stream, std::uint64_t, std::string_view) {
                                          stop.emit(boost::asio::cancellation_type::terminal);
                                        }),
                        boost::asio::bind_cancellation_slot(
                            stop.slot(), [&](const std::exception_ptr&, RunReport seen) {
                              ended = true;
                              report = std::move(seen);
                            }));
  lab->io.restart();
  while (!ended && lab->io.run_one() > 0) {
  }

  EXPECT_EQ(report.ended_by, EndedBy::cancelled);
  EXPECT_TRUE(lab->left_behind().empty());
}

TEST_P(EngineTest, ATokenCancelledBeforehandRunsNothing) {
  const auto token = std::make_shared<CancelToken>();
  token->cancel();

  const RunReport report = run(shell("touch /gocache/ran"), token);

  EXPECT_EQ(report.ended_by, EndedBy::cancelled);
  EXPECT_FALSE(report.started);
  EXPECT_TRUE(lab->left_behind().empty());
}

TEST_P(EngineTest, TheCapMarksTruncationAndKeepsHeadAndTail) {
  RunRequest request = shell("echo first; seq 1 20000; echo last; echo small >&2");
  request.limits.output_bytes = 1000;

  const RunReport report = run(request);

  EXPECT_EQ(report.exit_code, 0);
  EXPECT_TRUE(report.out.truncated);
  EXPECT_TRUE(report.out.complete);
  EXPECT_EQ(report.out.total, 108'905U);
  EXPECT_THAT(report.out.bytes, StartsWith("first\n1\n2\n"));
  EXPECT_THAT(report.out.bytes, ::testing::EndsWith("20000\nlast\n"));
  EXPECT_THAT(report.out.bytes, HasSubstr("107905 bytes of output left out"));
  EXPECT_LT(report.out.bytes.size(), 1100U);
  EXPECT_FALSE(report.err.truncated);
}

TEST_P(EngineTest, AnInfinitePrinterIsEndedAndTheWorkersMemoryStaysBounded) {
  RunRequest request = shell("yes 0123456789012345678901234567890123456789");
  request.limit = 4s;
  request.limits.output_bytes = 1U << 20U;
  rusage before{};
  getrusage(RUSAGE_SELF, &before);

  const RunReport report = run(request);

  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(report.ended_by, EndedBy::check_limit);
  EXPECT_TRUE(report.out.truncated);
  EXPECT_TRUE(report.end_marker);
  EXPECT_GT(report.out.total, 8U << 20U);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 * 1024);  // KiB
}

TEST_P(EngineTest, AForkBombMeetsThePidsLimitAndDies) {
  RunRequest request = shell("b() { b & b; }; b 2>/dev/null; sleep 30");
  request.limit = 3s;

  const RunReport report = run(request);

  EXPECT_TRUE(lab->left_behind().empty());
  if (!keeps(Promise::outlives_limits)) return expect_no_proof(report);
  if (keeps(Promise::pids_counted)) EXPECT_TRUE(report.pids_limit_hit);
  EXPECT_TRUE(report.end_marker);
}

TEST_P(EngineTest, MemoryOverTheLimitIsCountedAsOutOfMemory) {
  if (!keeps(Promise::memory_limit)) return;  // it would take this machine's memory
  RunRequest request = shell("x=0123456789abcdef; while :; do x=$x$x; done");
  request.limits.memory_bytes = 64ULL << 20U;
  request.limits.tmp_bytes = 1U << 20U;

  const RunReport report = run(request);

  if (!keeps(Promise::outlives_limits)) {
    EXPECT_TRUE(report.killed_unasked);
    return expect_no_proof(report);
  }
  if (keeps(Promise::memory_counted)) EXPECT_GE(report.oom_kills, 1U);
  EXPECT_TRUE(report.end_marker);
  EXPECT_NE(report.exit_code, 0);
}

TEST_P(EngineTest, AnOutOfMemoryChildOfASuccessfulCommandIsStillSeen) {
  if (!keeps(Promise::memory_limit)) return;  // it would take this machine's memory
  RunRequest request = shell("sh -c 'x=0123456789abcdef; while :; do x=$x$x; done'; exit 0");
  request.limits.memory_bytes = 64ULL << 20U;
  request.limits.tmp_bytes = 1U << 20U;

  const RunReport report = run(request);

  if (!keeps(Promise::outlives_limits)) return expect_no_proof(report);
  EXPECT_EQ(report.exit_code, 0);
  if (keeps(Promise::memory_counted)) EXPECT_GE(report.oom_kills, 1U);
}

TEST_P(EngineTest, AGrandchildThatHoldsThePipesIsALeftover) {
  const RunReport report = run(shell("setsid sleep 600 & echo done"));

  EXPECT_EQ(report.ended_by, EndedBy::itself);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_TRUE(report.leftover_processes);
  EXPECT_EQ(report.out.bytes, "done\n");
  EXPECT_TRUE(report.out.complete);
  EXPECT_LT(report.wall, 10s);
}

TEST_P(EngineTest, ACommandThatClosesItsStreamsIsWaitedFor) {
  const RunReport report = run(shell("echo before; exec >&- 2>&-; sleep 1; exit 4"));

  EXPECT_EQ(report.exit_code, 4);
  EXPECT_EQ(report.out.bytes, "before\n");
  EXPECT_TRUE(report.end_marker);
}

TEST_P(EngineTest, KillingEverythingDoesNotKillTheWrapper) {
  const RunReport report = run(shell("echo before; kill -9 -1; echo survived-in-a-shell"));

  EXPECT_TRUE(report.end_marker);
  EXPECT_THAT(report.out.bytes, StartsWith("before\n"));
}

TEST_P(EngineTest, StandardInputOfTheCommandIsEmpty) {
  const RunReport report = run(shell("cat; echo end"));

  EXPECT_EQ(report.out.bytes, "end\n");
}

TEST_P(EngineTest, AMissingCommandEndsAsAShellSaysItAndIsNamed) {
  RunRequest request = shell("");
  request.command = {"no-such-program"};

  const RunReport report = run(request);

  EXPECT_FALSE(report.error);
  EXPECT_EQ(report.ended_by, EndedBy::itself);
  EXPECT_EQ(report.exit_code, 127);
  EXPECT_EQ(report.engine_exit_code, 127);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("no-such-program")));
}

TEST_P(EngineTest, AWritableMountThatGrowsOverItsBudgetEndsTheRun) {
  lab->set_mount_budget(16U << 20U, std::nullopt);

  const RunReport report =
      run(shell("dd if=/dev/zero of=/gocache/big bs=65536 count=100000 2>/dev/null; sleep 20"));

  EXPECT_TRUE(report.mount_budget_hit);
  EXPECT_EQ(report.ended_by, EndedBy::watcher_disk);
  EXPECT_LT(report.wall, 10s);
}

TEST_P(EngineTest, AWritableMountWithTooManyFilesEndsTheRun) {
  lab->set_mount_budget(std::nullopt, 200);

  const RunReport report =
      run(shell("i=0; while [ $i -lt 5000 ]; do : > /gocache/$i; i=$((i+1)); done; sleep 20"));

  EXPECT_TRUE(report.mount_budget_hit);
  EXPECT_EQ(report.ended_by, EndedBy::watcher_disk);
}

TEST_P(EngineTest, ManyRunsAtOnceDoNotDisturbOneAnother) {
  constexpr int kRuns = 12;
  int ended = 0;
  for (int i = 0; i < kRuns; ++i) {
    RunRequest request = shell("echo run-" + std::to_string(i) + "; exit " + std::to_string(i));
    request.mounts.gocache = lab->scratch.open_dir("gocache");
    boost::asio::co_spawn(lab->io, lab->port().run(std::move(request), nullptr, {}),
                          [&ended, i](const std::exception_ptr&, const RunReport& report) {
                            ++ended;
                            EXPECT_FALSE(report.error) << report.error->text();
                            EXPECT_EQ(report.exit_code, i);
                            EXPECT_EQ(report.out.bytes, "run-" + std::to_string(i) + "\n");
                          });
  }
  lab->io.restart();
  while (ended < kRuns && lab->io.run_one() > 0) {
  }

  EXPECT_EQ(ended, kRuns);
  EXPECT_EQ(lab->runs_under_way(), 0U);
}

}  // namespace
}  // namespace cupel::test
