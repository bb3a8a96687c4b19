#include "worker/app/task_runner.hpp"

#include "common/async/clock.hpp"
#include "common/core/json.hpp"
#include "common/core/limits.hpp"
#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "worker/acquire/acquire.hpp"
#include "worker/app/result_size.hpp"
#include "worker/app/task_limits.hpp"
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

constexpr Duration kUploadLimit = std::chrono::minutes(2);
constexpr Duration kDownloadLimit = std::chrono::minutes(10);

void report(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    spdlog::error("an attempt failed in an unexpected way: {}", e.what());
  }
}

/// The newest toolchain that is here: for work that belongs to no unit yet.
const images::Available* newest(const std::vector<images::Available>& all) {
  return all.empty() ? nullptr : &*std::ranges::max_element(all, [](const auto& a, const auto& b) {
    const auto key = [](const images::Available& image) {
      return std::pair(images::GoVersion::parse(image.go_version), image.has_cc);
    };
    return key(a) < key(b);
  });
}

}  // namespace

struct TaskRunner::Attempt {
  explicit Attempt(Lease granted, asio::io_context& loop)
      : lease(std::move(granted)), cancel(std::make_shared<CancelToken>()), deadline_timer(loop) {}
  Lease lease;
  std::shared_ptr<CancelToken> cancel;
  CancelWhy why = CancelWhy::requested;
  bool timed_out = false;
  TimePoint deadline;
  WallTime started;
  asio::steady_timer deadline_timer;
  std::vector<std::string> notes;
  [[nodiscard]] LiveLease key() const { return {lease.spec.id, lease.token}; }
};

TaskRunner::TaskRunner(RunnerParts parts, OnFinished finished, OnOutput output)
    : parts_(std::move(parts)),
      finished_(std::move(finished)),
      output_(std::move(output)),
      group_(parts_.loop.get_executor(), report) {}

TaskRunner::~TaskRunner() = default;

void TaskRunner::start(Lease lease) {
  auto attempt = std::make_shared<Attempt>(std::move(lease), parts_.loop);
  TaskSpec& spec = attempt->lease.spec;
  spec.settings = clamp(std::move(spec.settings), parts_.options.bounds, attempt->notes);
  attempt->started = async::wall_now();
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
  result.evidence.notes.insert(result.evidence.notes.end(), attempt->notes.begin(),
                               attempt->notes.end());
  if (auto rest = fit_into_message(result)) {
    const Digest digest = sha256(*rest);
    const std::uint64_t size = rest->size();
    auto uploaded = co_await asio::co_spawn(
        parts_.bulk.executor(),
        parts_.bulk.upload(attempt->key(), digest, std::move(*rest), kUploadLimit),
        asio::use_awaitable);
    if (uploaded) {
      result.logs.push_back({.check = CheckKind::custom,
                             .name = "findings",
                             .stream = Stream::out,
                             .artifact = digest,
                             .bytes = size,
                             .truncated = false});
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
  const Work work = attempt->lease.spec.work;
  if (const auto* source = std::get_if<AcquireSource>(&work)) {
    co_return co_await acquire_source(attempt, *source);
  }
  if (const auto* modules = std::get_if<AcquireModules>(&work)) {
    co_return co_await acquire_modules(attempt, *modules);
  }
  if (const auto* side = std::get_if<Execute>(&work)) {
    co_return co_await execute(attempt, *side);
  }
  co_return answer(*attempt, Outcome::passing, Reason::none, {});
}

namespace {

AcquireContext context_of(const RunnerParts& parts, const Lease& lease, TimePoint deadline,
                          const images::Available& image) {
  return AcquireContext{.runs = parts.runs,
                        .files = parts.files,
                        .workspaces = parts.workspaces,
                        .policy = {.allow_local = parts.options.allow_local_sources,
                                   .allowed = parts.options.allowed_sources,
                                   .git_credentials_file = parts.options.git_credentials_file,
                                   .fixture_proxy = parts.options.fixture_proxy,
                                   .netrc_file = parts.options.netrc_file},
                        .campaign = lease.spec.campaign,
                        .repository = lease.spec.repository,
                        .unit = lease.spec.unit,
                        .task = lease.spec.id,
                        .token = lease.token,
                        .task_deadline = deadline,
                        .settings = lease.spec.settings,
                        .image = image.engine_id,
                        .image_go_version = image.go_version};
}

/// The answer of a pipeline that stopped.
void stop_with(TaskResult& result, AcquireStopped stopped) {
  switch (stopped.kind) {
    case AcquireStopped::Kind::refusal:
      result.reason = stopped.refusal.reason;
      result.outcome = class_of(stopped.refusal.reason);
      result.message = std::move(stopped.refusal.message);
      result.findings = std::move(stopped.refusal.findings);
      break;
    case AcquireStopped::Kind::interrupted:
      result.ending = Ending::interrupted;
      result.reason = Reason::engine;
      result.message = std::move(stopped.message);
      break;
    case AcquireStopped::Kind::lost:
      result.ending = Ending::lost_workspace;
      result.reason = Reason::engine;
      result.message = std::move(stopped.message);
      break;
  }
}

CheckLog as_check_log(AcquireLog log) {
  CheckLog check;
  check.check = CheckKind::custom;
  check.name = "acquire";
  check.out = {
      .bytes = std::move(log.out), .total = 0, .truncated = log.truncated, .complete = true};
  check.err = {
      .bytes = std::move(log.err), .total = 0, .truncated = log.truncated, .complete = true};
  return check;
}

/// A vendored unit acquires nothing: its snapshot is all that it needs, with an empty module cache.
std::optional<UnitWorkspace> vendored_workspace(Workspaces& workspaces,
                                                const SourceWorkspace& source,
                                                const UnitInfo& unit) {
  auto directory = workspaces.new_directory("modcache");
  if (!directory) return std::nullopt;
  std::error_code ec;
  std::filesystem::permissions(*directory, std::filesystem::perms(0755), ec);
  UnitWorkspace workspace;
  workspace.source = source.snapshot;
  workspace.modcache = *directory;
  workspace.facts.tree = source.facts.tree;
  workspace.unit = unit;
  return workspace;
}

/// A build cache of a custom check's own, noted for removal.
asio::awaitable<Result<std::string>> another_cache(BuildCaches* caches, std::string image,
                                                   BuildCache mode,
                                                   std::shared_ptr<CancelToken> cancel,
                                                   std::shared_ptr<std::vector<std::string>> made) {
  auto cache = co_await caches->fresh(std::move(image), mode, std::move(cancel));
  if (!cache) co_return cache.error();
  made->push_back(cache->directory);
  co_return cache->directory;
}

}  // namespace

asio::awaitable<TaskResult> TaskRunner::acquire_source(AttemptPtr attempt, AcquireSource work) {
  TaskResult result = answer(*attempt, Outcome::passing, Reason::none, {});
  const auto available = parts_.images();
  const images::Available* image = newest(available);
  if (image == nullptr) {
    result.ending = Ending::interrupted;
    result.reason = Reason::image_missing;
    result.message = "the engine holds no toolchain image";
    co_return result;
  }
  result.evidence.image = image->identity;
  result.evidence.egress = parts_.options.fixture_proxy.empty() ? "configured" : "none";

  std::string bundle;
  if (const auto* packed = std::get_if<BundleSource>(&work.source)) {
    auto directory = parts_.workspaces.new_directory("bundle");
    if (!directory) {
      result.ending = Ending::interrupted;
      result.message = directory.error().text();
      co_return result;
    }
    bundle = *directory + "/source.pack";
    auto fetched =
        co_await asio::co_spawn(parts_.bulk.executor(),
                                parts_.bulk.download(attempt->key(), packed->artifact,
                                                     kArtifactBytesMax, bundle, kDownloadLimit),
                                asio::use_awaitable);
    if (!fetched) {
      (void)fs::remove_tree(*directory);
      result.ending = Ending::interrupted;
      result.message = fetched.error().text();
      co_return result;
    }
  }
  auto context = context_of(parts_, attempt->lease, attempt->deadline, *image);
  auto ended =
      co_await worker::acquire_source(std::move(context), std::move(work), bundle, attempt->cancel);
  if (!bundle.empty()) (void)fs::remove_tree(std::filesystem::path(bundle).parent_path());
  if (auto* stopped = std::get_if<AcquireStopped>(&ended)) {
    stop_with(result, std::move(*stopped));
    co_return result;
  }
  auto& acquired = std::get<SourceAcquired>(ended);
  result.source = std::move(acquired.facts);
  std::vector<CheckLog> logs;
  logs.push_back(as_check_log(std::move(acquired.log)));
  co_await upload_logs(attempt, std::move(logs), &result);
  co_return result;
}

asio::awaitable<TaskResult> TaskRunner::acquire_modules(AttemptPtr attempt, AcquireModules work) {
  TaskResult result = answer(*attempt, Outcome::passing, Reason::none, {});
  const ValidationSettings& settings = attempt->lease.spec.settings;
  const auto selected =
      images::select(images::builtin_table(), parts_.images(), work.unit.go_version, settings.image,
                     settings.image_without_c_compiler);
  if (!selected) {
    co_return answer(*attempt, Outcome::refused, Reason::unsupported_toolchain,
                     selected.error().text());
  }
  if (!selected->found()) co_return without_image(*attempt, *selected, work.unit);
  result.evidence.image = selected->image.identity;
  result.evidence.go_version = selected->image.go_version;
  result.evidence.egress = parts_.options.fixture_proxy.empty() ? "configured" : "none";
  auto context = context_of(parts_, attempt->lease, attempt->deadline, selected->image);
  auto ended =
      co_await worker::acquire_modules(std::move(context), std::move(work), attempt->cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ended)) {
    stop_with(result, std::move(*stopped));
    co_return result;
  }
  auto& acquired = std::get<ModulesAcquired>(ended);
  parts_.metrics.module_cache(acquired.cache_hit);
  result.modules = acquired.facts;
  result.findings = std::move(acquired.findings);
  std::vector<CheckLog> logs;
  logs.push_back(as_check_log(std::move(acquired.log)));
  co_await upload_logs(attempt, std::move(logs), &result);
  co_return result;
}

asio::awaitable<TaskResult> TaskRunner::execute(AttemptPtr attempt, Execute work) {
  const TaskSpec& spec = attempt->lease.spec;
  TaskResult result = answer(*attempt, Outcome::inconclusive, Reason::none, {});
  const auto source = parts_.workspaces.find_source(spec.repository, work.commit);
  auto unit = parts_.workspaces.find_unit(spec.repository, work.commit, spec.unit);
  if (source && !unit && work.unit.vendored)
    unit = vendored_workspace(parts_.workspaces, *source, work.unit);
  if (!source || !unit) {
    result.ending = Ending::lost_workspace;
    result.reason = Reason::engine;
    result.message = "the unit's snapshot or module cache is not on this worker";
    co_return result;
  }
  const auto selected =
      images::select(images::builtin_table(), parts_.images(), unit->unit.go_version,
                     spec.settings.image, spec.settings.image_without_c_compiler);
  if (!selected) {
    co_return answer(*attempt, Outcome::refused, Reason::unsupported_toolchain,
                     selected.error().text());
  }
  if (!selected->found()) co_return without_image(*attempt, *selected, unit->unit);
  const images::Available image = selected->image;

  auto cache =
      co_await parts_.caches.fresh(image.engine_id, spec.settings.build_cache, attempt->cancel);
  if (!cache) {
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    result.message = cache.error().text();
    co_return result;
  }
  auto extra_caches = std::make_shared<std::vector<std::string>>();

  ValidationInput input;
  input.campaign = spec.campaign;
  input.task = spec.id;
  input.token = attempt->lease.token;
  input.task_deadline = attempt->deadline;
  input.unit = unit->unit;
  input.settings = spec.settings;
  input.notes = source->notes;
  input.image = image.engine_id;
  input.cgo_available = image.has_cc;
  input.mounts.source = unit->source;
  input.mounts.modcache = unit->modcache;
  input.mounts.gocache = cache->directory;
  auto fresh = [caches = &parts_.caches, image_id = image.engine_id,
                mode = spec.settings.build_cache, cancel = attempt->cancel, extra_caches] {
    return another_cache(caches, image_id, mode, cancel, extra_caches);
  };
  input.fresh_gocache = fresh;
  auto tail = [this, key = attempt->key()](CheckKind check, Stream stream, std::uint64_t offset,
                                           std::string_view bytes) {
    output_(
        LogTail{key.task, key.token, check, stream, offset, std::string(bytes.substr(0, 16384))});
  };
  CheckOutputSink sink = tail;
  ValidationResult validated =
      co_await validate(parts_.runs, std::move(input), attempt->cancel, std::move(sink));

  co_await discard(image.engine_id, cache->directory);
  for (const std::string& directory : *extra_caches) co_await discard(image.engine_id, directory);
  if (work.unit.vendored) (void)fs::remove_tree(unit->modcache);

  Judgement& judgement = validated.judgement;
  result.checks = std::move(judgement.checks);
  result.findings = std::move(judgement.findings);
  for (const auto* more : {&unit->findings, &work.unit.findings}) {
    result.findings.insert(result.findings.end(), more->begin(), more->end());
  }
  result.findings_truncated = judgement.findings_truncated;
  result.outcome = judgement.outcome;
  result.reason = judgement.reason;
  result.message = std::move(judgement.message);
  result.modules = unit->facts;
  result.evidence.image = image.identity;
  result.evidence.go_version = image.go_version;
  result.evidence.egress = "none";
  result.evidence.build_cache = cache->how;
  result.evidence.notes = std::move(judgement.notes);
  if (!cache->note.empty()) {
    spdlog::warn("{}", cache->note);
    result.evidence.notes.push_back(cache->note);
  }
  if (judgement.fleet_error) {
    result.ending = Ending::interrupted;
    result.reason = Reason::engine;
    result.message = judgement.fleet_error->text();
  }
  for (const CheckLog& log : validated.logs) {
    if (log.out.truncated) parts_.metrics.output_truncated(Stream::out);
    if (log.err.truncated) parts_.metrics.output_truncated(Stream::err);
  }
  co_await upload_logs(attempt, std::move(validated.logs), &result);
  co_return result;
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
