/// A sandbox that does what a test says, and an acquire context around it.
#pragma once

#include "tests/support/git_fixture.hpp"
#include "tests/support/temp_dir.hpp"
#include "worker/acquire/acquire.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace cupel::worker {

inline RunReport ended(int exit_code, std::string out = {}, std::string err = {}) {
  RunReport report;
  report.started = true;
  report.end_marker = true;
  report.exit_code = exit_code;
  report.engine_exit_code = exit_code;
  report.out.bytes = std::move(out);
  report.err.bytes = std::move(err);
  report.out.complete = true;
  report.err.complete = true;
  return report;
}

class ScriptedRuns final : public RunPort {
 public:
  using Script = std::function<RunReport(const RunRequest&)>;
  Script script = [](const RunRequest&) { return ended(0); };
  std::vector<RunRequest> requests;

  [[nodiscard]] boost::asio::awaitable<RunReport> run(RunRequest request,
                                                      std::shared_ptr<CancelToken> cancel,
                                                      OutputSink /*output*/) override {
    requests.push_back(request);
    RunReport report = script(request);
    if (cancel->cancelled()) report.ended_by = EndedBy::cancelled;
    co_return report;
  }
};

/// "go mod verify" and the like: the command without flags that every run has.
inline std::string command_line(const RunRequest& request) {
  std::string line;
  for (const auto& word : request.command) line += (line.empty() ? "" : " ") + word;
  return line;
}

class AcquireFixture {
 public:
  AcquireFixture() : workspaces_(open(dir_ / "ws")) {}

  [[nodiscard]] AcquireContext context() {
    AcquireContext context{.runs = runs,
                           .files = files_,
                           .workspaces = workspaces_,
                           .policy = {},
                           .campaign = CampaignId{1},
                           .repository = RepositoryId{2},
                           .unit = UnitId{3},
                           .task = TaskId{4},
                           .token = Token{5},
                           .task_deadline = {},
                           .settings = {},
                           .image = "sha256:1",
                           .image_go_version = "1.26.8"};
    context.policy.allow_local = true;
    context.policy.downloads = downloads;
    context.policy.share = share;
    return context;
  }

  template <typename T>
  T wait(boost::asio::awaitable<T> task) {
    boost::asio::io_context loop;
    auto done = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
    loop.run();
    return done.get();
  }

  /// Acquires a git repository made in `repo()`.
  std::variant<SourceAcquired, AcquireStopped> source(AcquireSource work = {},
                                                      std::string bundle = {}) {
    if (std::holds_alternative<GitSource>(work.source) &&
        std::get<GitSource>(work.source).url.empty()) {
      work.source = GitSource{"file://" + repo().string(), ""};
    }
    return wait(acquire_source(context(), std::move(work), std::move(bundle), cancel));
  }

  std::variant<ModulesAcquired, AcquireStopped> modules(const std::string& commit, UnitInfo unit) {
    return wait(acquire_modules(context(), AcquireModules{commit, std::move(unit)}, cancel));
  }

  [[nodiscard]] std::filesystem::path repo() const { return dir_ / "repo"; }
  [[nodiscard]] std::filesystem::path dir() const { return dir_.path(); }
  Workspaces& workspaces() { return workspaces_; }

  /// What lies in the data directory: fresh directories by the word they were made for.
  [[nodiscard]] std::vector<std::string> left_behind() const {
    std::vector<std::string> kinds;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / "ws" / "data")) {
      const std::string name = entry.path().filename();
      kinds.push_back(name.substr(0, name.rfind('-')));
    }
    std::ranges::sort(kinds);
    return kinds;
  }

  ScriptedRuns runs;
  std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
  std::string downloads;                ///< As in SourcePolicy, and
  decltype(SourcePolicy::share) share;  ///< likewise.

 private:
  static Workspaces open(const std::filesystem::path& dir) {
    auto opened = Workspaces::open(dir.string());
    if (!opened) throw std::runtime_error(opened.error().text());
    return *std::move(opened);
  }

  tests::TempDir dir_;
  boost::asio::thread_pool files_{1};
  Workspaces workspaces_;
};

}  // namespace cupel::worker
