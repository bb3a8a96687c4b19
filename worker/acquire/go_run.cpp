#include "worker/acquire/go_run.hpp"

#include <algorithm>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kLogBytesMax = 1 << 20;
constexpr std::uint64_t kOutputBytesMin = 16ULL << 20;  // `download -json all` of a large graph

SourceRefusal fleet_reason(Reason reason, const std::string& what) {
  const bool resource = reason == Reason::resource_memory || reason == Reason::resource_disk ||
                        reason == Reason::resource_pids;
  return refusal(reason, resource ? FindingKind::resource_limit : FindingKind::acquire_error, what);
}

void append_log(AcquireLog& log, const std::vector<std::string>& command, const GoEnded& ended) {
  std::string title = "$";
  for (const auto& word : command) title += ' ' + word;
  const auto add = [&](std::string& to, const std::string& text) {
    const std::size_t room = kLogBytesMax - std::min(kLogBytesMax, to.size());
    to += text.substr(0, room);
    log.truncated = log.truncated || text.size() > room;
  };
  add(log.out, title + '\n' + ended.out);
  add(log.err, title + '\n' + ended.err);
  log.truncated = log.truncated || ended.truncated;
}

}  // namespace

AcquireStopped stopped_by(SourceRefusal refusal) {
  AcquireStopped stopped;
  stopped.kind = AcquireStopped::Kind::refusal;
  stopped.message = refusal.message;
  stopped.refusal = std::move(refusal);
  return stopped;
}

AcquireStopped stopped_by(const Error& error) {
  AcquireStopped stopped;
  stopped.kind = AcquireStopped::Kind::interrupted;
  stopped.message = error.text();
  return stopped;
}

std::string without_staging(std::string text) {
  constexpr std::string_view kStaging = "/staging/";
  for (auto at = text.find(kStaging); at != std::string::npos; at = text.find(kStaging, at)) {
    text.erase(at, kStaging.size());
  }
  return text;
}

bool may_use_downloads(const AcquireContext& context) {
  return !context.policy.downloads.empty() && context.policy.fixture_proxy.empty() &&
         context.settings.go_private.empty() && context.settings.go_nosumdb.empty();
}

RunRequest go_request(const AcquireContext& context, const AcquireMounts& mounts,
                      const GoCommand& command) {
  RunRequest request;
  request.profile = command.profile;
  request.campaign = context.campaign;
  request.task = context.task;
  request.token = context.token;
  request.task_deadline = context.task_deadline;
  request.command = {"go"};
  request.command.insert(request.command.end(), command.arguments.begin(), command.arguments.end());
  request.workdir = command.workdir;
  request.image = context.image;
  request.mounts.source = mounts.source;
  request.mounts.modcache = mounts.modcache;
  request.mounts.gocache = mounts.gocache;
  request.mounts.staging = mounts.staging;
  request.mounts.fixture_proxy = context.policy.fixture_proxy;
  if (may_use_downloads(context)) request.mounts.downloads = context.policy.downloads;
  request.go.workspace = command.workspace;
  request.go.workspace_staged = !command.workspace.empty();
  request.go.go_private = context.settings.go_private;
  request.go.go_nosumdb = context.settings.go_nosumdb;
  request.limits = context.settings.limits;
  request.limits.output_bytes = std::max(request.limits.output_bytes, kOutputBytesMin);
  request.limit = std::chrono::seconds(context.settings.acquire_limit_s);
  request.check = CheckKind::list;
  return request;
}

std::optional<AcquireStopped> unproven(const RunReport& report) {
  if (report.error) return stopped_by(*report.error);
  switch (report.ended_by) {
    case EndedBy::cancelled: return stopped_by(Error{Errc::cancelled, "acquire", {}, {}});
    case EndedBy::engine:
      return stopped_by(Error{Errc::engine_refused, "the engine ended the run", {}, {}});
    case EndedBy::check_limit:
    case EndedBy::wrapper_limit:
      return stopped_by(
          fleet_reason(Reason::timeout, "timeout: the go command took too long to acquire"));
    case EndedBy::watcher_disk:
      return stopped_by(fleet_reason(Reason::resource_disk,
                                     "resource_disk: the module cache grew over its budget"));
    case EndedBy::itself: break;
  }
  const bool failed = report.exit_code != 0 || report.signal != 0;
  if (failed && (report.oom_kills > 0 || report.engine_oom_killed)) {
    return stopped_by(
        fleet_reason(Reason::resource_memory,
                     "resource_memory: the go command needed more memory than the limit"));
  }
  if (report.mount_budget_hit || (failed && report.tmp_full)) {
    return stopped_by(
        fleet_reason(Reason::resource_disk, "resource_disk: no space left in the sandbox"));
  }
  if (failed && report.pids_limit_hit) {
    return stopped_by(fleet_reason(Reason::resource_pids, "resource_pids: too many processes"));
  }
  if (!report.started || !report.end_marker) {
    return stopped_by(fleet_reason(Reason::end_marker_missing,
                                   "end_marker_missing: the acquire run did not end as it should"));
  }
  if (report.signal != 0) {
    return stopped_by(
        fleet_reason(Reason::aborted,
                     "aborted: signal " + std::to_string(report.signal) + " ended the go command"));
  }
  return std::nullopt;
}

asio::awaitable<std::variant<GoEnded, AcquireStopped>> run_go(AcquireContext context,
                                                              AcquireMounts mounts,
                                                              GoCommand command,
                                                              std::shared_ptr<CancelToken> cancel,
                                                              AcquireLog* log) {
  RunRequest request = go_request(context, mounts, command);
  const std::vector<std::string> shown = request.command;
  RunReport report = co_await context.runs.run(std::move(request), std::move(cancel), {});
  GoEnded ended;
  ended.exit_code = report.exit_code;
  ended.out = std::move(report.out.bytes);
  ended.err = without_staging(std::move(report.err.bytes));
  ended.truncated = report.out.truncated || report.err.truncated;
  append_log(*log, shown, ended);
  if (auto stopped = unproven(report)) co_return *std::move(stopped);
  co_return ended;
}

}  // namespace cupel::worker
