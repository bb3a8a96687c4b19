#include "worker/validate/validate.hpp"

#include "common/fs/beneath.hpp"
#include "worker/core/go/plan.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <fcntl.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

// Only for packages that ended too early, to name what did not run.
constexpr std::size_t kTestFilesMax = 500;
constexpr std::uint64_t kTestFileBytesMax = 1ULL << 20;
constexpr std::uint64_t kTestFilesBytesMax = 32ULL << 20;

RunRequest request_for(const ValidationInput& input, const PlannedCheck& planned) {
  RunRequest request;
  request.profile = Profile::execute;
  request.campaign = input.campaign;
  request.task = input.task;
  request.token = input.token;
  request.task_deadline = input.task_deadline;
  request.command = planned.command;
  request.workdir = planned.workdir;
  request.image = input.image;
  request.mounts = input.mounts;
  if (planned.check != CheckKind::scan) {
    request.mounts.tools.clear();
    request.mounts.vulndb.clear();
  }
  request.go.vendored = input.unit.vendored;
  request.go.workspace = input.unit.workspace;
  request.go.go_private = input.settings.go_private;
  request.go.go_nosumdb = input.settings.go_nosumdb;
  request.limits = planned.limits;
  request.limit = planned.limit;
  request.dump_goroutines = planned.dump_goroutines;
  request.check = planned.check;
  return request;
}

/// A run that could not even be asked for.
RunReport failed_report(Error error) {
  RunReport report;
  report.error = std::move(error);
  return report;
}

std::string below(const std::string& dir, const std::string& file) {
  return dir.empty() || dir == "." ? file : dir + "/" + file;
}

/// The test files of packages that ended too early. What can't be read is left out: the notes are
/// help, not proof.
void note_what_did_not_run(Judgement& judgement, const ValidationInput& input) {
  if (judgement.cut_short.empty() || input.mounts.source.empty()) return;
  const auto source = fs::open_dir(input.mounts.source);
  if (!source) return;
  std::size_t files_left = kTestFilesMax;
  std::uint64_t bytes_left = kTestFilesBytesMax;
  const std::vector<CutShort> packages = judgement.cut_short;
  for (const CutShort& package : packages) {
    std::vector<std::string> sources;
    for (const std::string& name : package.files) {
      if (files_left == 0) return;
      --files_left;
      // O_NONBLOCK: a path of a foreign tree may be a pipe.
      const auto file = fs::open_beneath(*source, below(package.dir, name), O_RDONLY | O_NONBLOCK);
      if (!file) continue;
      auto text = fs::read_all(*file, std::min(kTestFileBytesMax, bytes_left), name);
      if (!text) continue;
      bytes_left -= text->size();
      sources.push_back(std::move(*text));
    }
    note_tests_not_run(judgement, package, input.unit, sources);
  }
}

}  // namespace

// `runs` outlives the call (validate.hpp).
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<ValidationResult> validate(RunPort& runs, ValidationInput input,
                                           std::shared_ptr<CancelToken> cancel,
                                           CheckOutputSink sink) {
  // The run port ends a run on `cancel` and cleans up by itself; the coroutine has nothing to
  // cancel.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const JudgeContext context{.unit = input.unit,
                             .settings = input.settings,
                             .notes = input.notes,
                             .cgo_available = input.cgo_available,
                             .scan = input.scan};
  std::vector<CheckRun> done;
  bool cancelled = cancel->cancelled();
  const WantedScan scan{.wanted = input.scan && input.scan->problem == Reason::none,
                        .only = input.only_scan,
                        .limit_s = input.scan_limit_s};
  for (const PlannedCheck& planned : plan_checks(input.unit, input.settings, scan)) {
    if (cancelled) break;
    RunRequest request = request_for(input, planned);
    CheckRun run{
        .check = planned.check, .name = planned.name, .command = planned.command, .report = {}};
    bool may_run = true;
    if (planned.fresh_gocache) {
      auto fresh = co_await input.fresh_gocache();
      if (fresh) {
        request.mounts.gocache = std::move(*fresh);
      } else {
        run.report = failed_report(fresh.error());
        may_run = false;
      }
    }
    if (may_run) {
      OutputSink output;
      if (sink) {
        output = [sink, check = planned.check](Stream stream, std::uint64_t offset,
                                               std::string_view bytes) {
          sink(check, stream, offset, bytes);
        };
      }
      run.report = co_await runs.run(std::move(request), cancel, std::move(output));
    }
    cancelled = cancel->cancelled() || run.report.ended_by == EndedBy::cancelled;
    const bool fleet_failed = run.report.error.has_value();
    done.push_back(std::move(run));
    if (fleet_failed) break;
  }

  ValidationResult result;
  result.judgement = judge(context, done);
  if (cancelled && !result.judgement.fleet_error) {
    result.judgement.outcome = Outcome::cancelled;
    result.judgement.reason = Reason::none;
    result.judgement.message.clear();
  } else {
    note_what_did_not_run(result.judgement, input);
  }
  for (CheckRun& run : done) {
    result.logs.push_back({.check = run.check,
                           .name = std::move(run.name),
                           .out = std::move(run.report.out),
                           .err = std::move(run.report.err)});
  }
  co_return result;
}

}  // namespace cupel::worker
