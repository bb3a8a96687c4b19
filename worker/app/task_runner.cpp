#include "worker/app/task_runner.hpp"

#include "common/async/clock.hpp"
#include "common/core/json.hpp"
#include "common/core/limits.hpp"
#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "common/wire/codec.hpp"
#include "worker/app/attempt.hpp"
#include "worker/app/task_limits.hpp"
#include "worker/core/agent/spec_policy.hpp"
#include "worker/run/reaper.hpp"
#include "worker/validate/validate.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

void report_attempt(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    spdlog::error("an attempt failed in an unexpected way: {}", e.what());
  }
}

}  // namespace

TaskRunner::TaskRunner(RunnerParts parts, OnFinished finished, OnOutput output)
    : parts_(std::move(parts)),
      finished_(std::move(finished)),
      output_(std::move(output)),
      group_(parts_.loop.get_executor(), report_attempt) {}

TaskRunner::~TaskRunner() = default;

void TaskRunner::start(Lease lease) {
  auto attempt = std::make_shared<Attempt>(std::move(lease), parts_.loop, parts_.runs);
  TaskSpec& spec = attempt->lease.spec;
  spec.settings = clamp(std::move(spec.settings), parts_.options.bounds, attempt->notes);
  attempt->started = async::wall_now();
  if (parts_.downloads != nullptr) {
    attempt->downloads_damaged = parts_.downloads->cache().damaged();
  }
  attempt->deadline = async::monotonic_now() + task_limit(spec, parts_.options.bounds);
  attempts_[attempt->lease.token] = attempt;
  parts_.metrics.attempt_started(spec.kind);
  // First the watch: work that ends at once must find its timer waiting, or nothing ends the watch.
  group_.spawn(watch_deadline(attempt));
  group_.spawn(carry_out(attempt));
}

void TaskRunner::cancel(const LiveLease& lease, CancelWhy why) {
  const auto found = attempts_.find(lease.token);
  if (found == attempts_.end() || found->second->cancel->cancelled()) return;
  found->second->why = why;
  found->second->cancel->cancel();
}

asio::awaitable<void> TaskRunner::shutdown() {
  for (const auto& [token, attempt] : attempts_) attempt->cancel->cancel();
  co_await group_.join();
}

asio::awaitable<void> TaskRunner::watch_deadline(AttemptPtr attempt) {
  boost::system::error_code ended;
  attempt->deadline_timer.expires_at(attempt->deadline);
  co_await attempt->deadline_timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  if (ended || attempt->cancel->cancelled()) co_return;
  attempt->timed_out = true;
  attempt->cancel->cancel();
}

asio::awaitable<void> TaskRunner::carry_out(AttemptPtr attempt) {
  const auto pinned = parts_.workspaces.pin(attempt->lease.spec.repository);
  TaskResult result = co_await work(attempt);
  attempt->deadline_timer.cancel();
  if (attempt->timed_out) {
    result = answer(*attempt, Outcome::inconclusive, Reason::timeout,
                    "the task took longer than it may");
  } else if (attempt->cancel->cancelled()) {
    result.ending = Ending::interrupted;
    result.message = "stopped: " + std::string(name(attempt->why));
  }
  result.task = attempt->lease.spec.id;
  result.token = attempt->lease.token;
  result.started = attempt->started;
  result.finished = async::wall_now();
  if (result.evidence.egress.empty()) result.evidence.egress = attempt->runs.mode();
  std::ranges::copy(attempt->runs.refused(), std::back_inserter(result.evidence.notes));
  result.evidence.notes.insert(result.evidence.notes.end(), attempt->notes.begin(),
                               attempt->notes.end());
  if (auto all = wire::split_findings(result)) {
    const auto uploaded = co_await asio::co_spawn(
        parts_.bulk.executor(),
        parts_.bulk.upload(attempt->key(), result.findings_artifact, std::move(*all), kUploadLimit),
        asio::use_awaitable);
    if (!uploaded) {
      // Better the first ones than none: the result says that it is not whole.
      result.findings_artifact = Digest();
      result.findings_truncated = true;
      result.evidence.notes.push_back("findings cut: " + uploaded.error().what);
    }
  }
  parts_.metrics.attempt_finished(attempt->lease.spec.kind, result.outcome, result.ending);
  attempts_.erase(attempt->lease.token);
  finished_(std::move(result));
}

TaskResult TaskRunner::answer(const Attempt& attempt, Outcome outcome, Reason reason,
                              std::string message) const {
  TaskResult result;
  result.task = attempt.lease.spec.id;
  result.token = attempt.lease.token;
  result.outcome = outcome;
  result.reason = reason;
  result.message = std::move(message);
  result.evidence.engine = parts_.engine;
  result.evidence.wrapper = parts_.wrapper;
  result.evidence.proxy_mode = parts_.options.fixture_proxy.empty() ? "network" : "fixture";
  result.evidence.parser_version = kParserVersion;
  return result;
}

TaskResult TaskRunner::without_image(const Attempt& attempt, const images::Selection& selected,
                                     const UnitInfo& unit) const {
  TaskResult result = answer(attempt, selected.outcome, selected.reason, selected.message);
  Finding finding;
  finding.kind = FindingKind::environment;
  finding.check = CheckKind::list;
  finding.message = selected.message;
  const auto available = parts_.images();
  if (const auto* image = newest(available);
      image != nullptr && selected.reason == Reason::requires_newer_toolchain) {
    // The go command's own words, which people search for.
    finding.message = "go.mod requires go >= " + unit.go_version + " (running go " +
                      image->go_version + "; GOTOOLCHAIN=local)";
  }
  finding.key = "environment:" + std::string(name(selected.reason));
  finding.signature = finding.key;
  result.findings.push_back(std::move(finding));
  return result;
}

asio::awaitable<TaskResult> TaskRunner::work(AttemptPtr attempt) {
  if (auto refused = refuse_spec(attempt->lease.spec)) {
    spdlog::warn("{}: refused: {}", attempt->lease.spec.id.text(), *refused);
    co_return answer(*attempt, Outcome::refused, Reason::source_not_allowed, *std::move(refused));
  }
  const Work work = attempt->lease.spec.work;
  const bool needs_proxies =
      !std::holds_alternative<Execute>(work) && !std::holds_alternative<NoOp>(work);
  if (needs_proxies) co_await wait_for_upstream(attempt);
  if (const auto* source = std::get_if<AcquireSource>(&work)) {
    co_return co_await acquire_source(attempt, *source);
  }
  if (const auto* modules = std::get_if<AcquireModules>(&work)) {
    co_return co_await acquire_modules(attempt, *modules);
  }
  if (const auto* side = std::get_if<Execute>(&work)) {
    co_return co_await execute(attempt, *side);
  }
  if (const auto* change = std::get_if<Mutate>(&work)) {
    co_return co_await mutate(attempt, *change);
  }
  if (const auto* tool = std::get_if<BuildTool>(&work)) {
    co_return co_await build_tool(attempt, *tool);
  }
  co_return co_await prove(attempt);
}

asio::awaitable<void> TaskRunner::upload_logs(AttemptPtr attempt, std::vector<CheckLog> logs,
                                              TaskResult* result) {
  for (CheckLog& log : logs) {
    // A complete package list explains nothing that the findings don't.
    if (log.check == CheckKind::list && result->outcome == Outcome::passing) continue;
    for (const Stream stream : {Stream::out, Stream::err}) {
      Captured& captured = stream == Stream::out ? log.out : log.err;
      if (captured.bytes.empty() || attempt->cancel->cancelled()) continue;
      LogRef reference;
      reference.check = log.check;
      reference.name = log.name;
      reference.stream = stream;
      reference.artifact = sha256(captured.bytes);
      reference.bytes = captured.bytes.size();
      reference.truncated = captured.truncated;
      auto uploaded =
          co_await asio::co_spawn(parts_.bulk.executor(),
                                  parts_.bulk.upload(attempt->key(), reference.artifact,
                                                     std::move(captured.bytes), kUploadLimit),
                                  asio::use_awaitable);
      if (uploaded) {
        parts_.metrics.log_uploaded(reference.bytes);
        result->logs.push_back(std::move(reference));
      } else {
        result->evidence.notes.push_back("log of " + std::string(name(log.check)) +
                                         " was not kept: " + uploaded.error().what);
      }
    }
  }
}

asio::awaitable<void> TaskRunner::discard(std::string image, std::string directory) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto removed = co_await empty_directory(parts_.runs, parts_.files, image, directory);
  if (!removed) spdlog::warn("build cache is left for the next start: {}", removed.error().text());
  parts_.metrics.build_cache_removed(removed.has_value());
}

}  // namespace cupel::worker
