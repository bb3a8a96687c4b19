#include "worker/validate/validate.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;
using testing::ElementsAre;

RunReport whole_report(int exit_code, std::string out = {}, std::string err = {}) {
  RunReport report;
  report.started = true;
  report.end_marker = true;
  report.exit_code = exit_code;
  report.engine_exit_code = exit_code;
  report.out.bytes = std::move(out);
  report.out.complete = true;
  report.err.bytes = std::move(err);
  report.err.complete = true;
  return report;
}

RunReport broken_engine() {
  RunReport report;
  report.error = Error{.code = Errc::engine_timeout, .what = "create", .detail = {}, .hint = {}};
  return report;
}

const std::string kList = R"({"Dir":"/src/p","ImportPath":"m/p","TestGoFiles":["p_test.go"]})";
const std::string kPass = R"({"Action":"start","Package":"m/p"}
{"Action":"run","Package":"m/p","Test":"TestA"}
{"Action":"pass","Package":"m/p","Test":"TestA"}
{"Action":"pass","Package":"m/p"}
)";
const std::string kPanic = R"({"Action":"start","Package":"m/p"}
{"Action":"run","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"panic: boom\n"}
{"Action":"fail","Package":"m/p","Test":"TestA"}
{"Action":"fail","Package":"m/p"}
)";

/// Answers each check with what the test prepared and remembers what it was asked.
class FakeRuns final : public RunPort {
 public:
  asio::awaitable<RunReport> run(RunRequest request, std::shared_ptr<CancelToken> cancel,
                                 OutputSink output) override {
    asked.push_back(request);
    if (output) output(Stream::out, 0, "x");
    if (cancel_at == request.check) {
      cancel->cancel();
      RunReport report = whole_report(-1);
      report.ended_by = EndedBy::cancelled;
      co_return report;
    }
    switch (request.check) {
      case CheckKind::list: co_return list;
      case CheckKind::build: co_return build;
      case CheckKind::test: co_return test;
      case CheckKind::vet: co_return whole_report(0, "{}\n");
      default: co_return whole_report(0);
    }
  }

  std::vector<RunRequest> asked;
  std::optional<CheckKind> cancel_at;
  RunReport list = whole_report(0, kList);
  RunReport build = whole_report(0);
  RunReport test = whole_report(0, kPass);
};

ValidationInput input() {
  ValidationInput out;
  out.task = TaskId{7};
  out.token = Token{9};
  out.unit.dir = ".";
  out.unit.module_path = "m";
  out.image = "sha256:1";
  out.mounts.source = "/nowhere/source";
  out.mounts.gocache = "/nowhere/cache";
  return out;
}

ValidationResult run(FakeRuns& runs, ValidationInput what, CheckOutputSink sink = {},
                     std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>()) {
  asio::io_context loop;
  std::optional<ValidationResult> result;
  asio::co_spawn(loop, validate(runs, std::move(what), std::move(cancel), std::move(sink)),
                 [&](std::exception_ptr error, ValidationResult value) {
                   if (error) std::rethrow_exception(error);
                   result = std::move(value);
                 });
  loop.run();
  return std::move(result.value());
}

std::vector<CheckKind> kinds(const FakeRuns& runs) {
  std::vector<CheckKind> out;
  for (const RunRequest& request : runs.asked) out.push_back(request.check);
  return out;
}

TEST(Validate, RunsEveryCheckInOrderInTheExecuteProfileOnOneCache) {
  FakeRuns runs;

  const ValidationResult result = run(runs, input());

  EXPECT_THAT(kinds(runs),
              ElementsAre(CheckKind::list, CheckKind::build, CheckKind::vet, CheckKind::test));
  for (const RunRequest& request : runs.asked) {
    EXPECT_EQ(request.profile, Profile::execute);
    EXPECT_EQ(request.mounts.gocache, "/nowhere/cache");
    EXPECT_EQ(request.task, TaskId{7});
    EXPECT_EQ(request.token, Token{9});
    EXPECT_EQ(request.image, "sha256:1");
    EXPECT_GT(request.limit, Duration::zero());
  }
  EXPECT_EQ(result.judgement.outcome, Outcome::passing);
  EXPECT_EQ(result.logs.size(), 4U);
  EXPECT_EQ(result.logs[3].out.bytes, kPass);
}

TEST(Validate, GoesOnAfterACheckThatFailed) {
  FakeRuns runs;
  runs.build = whole_report(1, "", "# m/p\np/a.go:1:2: undefined: x\n");

  const ValidationResult result = run(runs, input());

  EXPECT_EQ(runs.asked.size(), 4U);
  EXPECT_EQ(result.judgement.outcome, Outcome::failing);
}

TEST(Validate, PassesTheGoModeOfTheUnitOn) {
  FakeRuns runs;
  ValidationInput what = input();
  what.unit.vendored = true;
  what.unit.workspace = "go.work";
  what.unit.dir = "sub";

  (void)run(runs, what);

  for (const RunRequest& request : runs.asked) {
    EXPECT_TRUE(request.go.vendored);
    EXPECT_EQ(request.go.workspace, "go.work");
    EXPECT_EQ(request.workdir, "sub");
  }
}

TEST(Validate, StopsWhenTheEngineFailed) {
  FakeRuns runs;
  runs.build = broken_engine();

  const ValidationResult result = run(runs, input());

  EXPECT_EQ(runs.asked.size(), 2U);
  ASSERT_TRUE(result.judgement.fleet_error);
  EXPECT_EQ(result.judgement.reason, Reason::engine);
}

TEST(Validate, ACancelledRunSkipsTheRest) {
  FakeRuns runs;
  runs.cancel_at = CheckKind::build;

  const ValidationResult result = run(runs, input());

  EXPECT_EQ(runs.asked.size(), 2U);
  EXPECT_EQ(result.judgement.outcome, Outcome::cancelled);
}

TEST(Validate, StartsNothingWhenItIsCancelledAlready) {
  FakeRuns runs;
  const auto cancel = std::make_shared<CancelToken>();
  cancel->cancel();

  const ValidationResult result = run(runs, input(), {}, cancel);

  EXPECT_TRUE(runs.asked.empty());
  EXPECT_EQ(result.judgement.outcome, Outcome::cancelled);
}

TEST(Validate, GivesEachCustomCheckAFreshCache) {
  FakeRuns runs;
  ValidationInput what = input();
  what.settings.custom = {{.name = "a", .command = {"true"}, .limit_s = 5},
                          {.name = "b", .command = {"true"}, .limit_s = 5}};
  int made = 0;
  const auto fresh = [&made]() -> asio::awaitable<Result<std::string>> {
    return [](int number) -> asio::awaitable<Result<std::string>> {
      co_return "/nowhere/fresh" + std::to_string(number);
    }(++made);
  };
  what.fresh_gocache = fresh;

  const ValidationResult result = run(runs, what);

  ASSERT_EQ(runs.asked.size(), 6U);
  EXPECT_EQ(runs.asked[4].mounts.gocache, "/nowhere/fresh1");
  EXPECT_EQ(runs.asked[5].mounts.gocache, "/nowhere/fresh2");
  EXPECT_EQ(result.judgement.outcome, Outcome::passing);
  EXPECT_EQ(result.judgement.checks[5].name, "b");
}

TEST(Validate, ACacheThatCannotBeMadeIsTheFleetsFault) {
  FakeRuns runs;
  ValidationInput what = input();
  what.settings.custom = {{.name = "a", .command = {"true"}, .limit_s = 5}};
  const auto fresh = []() -> asio::awaitable<Result<std::string>> {
    co_return Error{.code = Errc::disk_full, .what = "no space", .detail = {}, .hint = {}};
  };
  what.fresh_gocache = fresh;

  const ValidationResult result = run(runs, what);

  EXPECT_EQ(runs.asked.size(), 4U);
  ASSERT_TRUE(result.judgement.fleet_error);
  EXPECT_EQ(result.judgement.fleet_error->code, Errc::disk_full);
}

TEST(Validate, HandsLiveOutputOnWithItsCheck) {
  FakeRuns runs;
  std::vector<CheckKind> seen;
  const auto sink = [&seen](CheckKind check, Stream, std::uint64_t, std::string_view) {
    seen.push_back(check);
  };

  (void)run(runs, input(), sink);

  EXPECT_THAT(seen,
              ElementsAre(CheckKind::list, CheckKind::build, CheckKind::vet, CheckKind::test));
}

class TemporaryTree {
 public:
  TemporaryTree() {
    std::string pattern = testing::TempDir() + "validate-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryTree() { std::filesystem::remove_all(path_); }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> not_run(const ValidationResult& result) {
  std::vector<std::string> names;
  for (const Finding& finding : result.judgement.findings) {
    if (finding.message.starts_with("not_run")) names.push_back(finding.test);
  }
  return names;
}

TEST(Validate, NamesTheTestsThatAPanicKeptFromRunning) {
  const TemporaryTree tree;
  std::filesystem::create_directory(tree.path() / "p");
  std::ofstream(tree.path() / "p/p_test.go")
      << "package p\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n";
  FakeRuns runs;
  runs.test = whole_report(1, kPanic);
  ValidationInput what = input();
  what.mounts.source = tree.path().string();

  EXPECT_THAT(not_run(run(runs, what)), ElementsAre("TestB"));
}

TEST(Validate, FollowsNoLinkOutOfTheSnapshot) {
  const TemporaryTree tree;
  std::ofstream(tree.path() / "outside_test.go") << "func TestB(t *testing.T) {}\n";
  std::filesystem::create_directories(tree.path() / "snapshot/p");
  std::filesystem::create_symlink(tree.path() / "outside_test.go",
                                  tree.path() / "snapshot/p/p_test.go");
  FakeRuns runs;
  runs.test = whole_report(1, kPanic);
  ValidationInput what = input();
  what.mounts.source = (tree.path() / "snapshot").string();

  EXPECT_TRUE(not_run(run(runs, what)).empty());
}

}  // namespace
}  // namespace cupel::worker
