#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "worker/app/attempt.hpp"
#include "worker/app/attempt_scan.hpp"
#include "worker/validate/validate.hpp"

#include <boost/asio/awaitable.hpp>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

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
                                                   BuildCache mode, DependencyWish dependencies,
                                                   std::shared_ptr<CancelToken> cancel,
                                                   std::shared_ptr<std::vector<std::string>> made) {
  auto cache =
      co_await caches->fresh(std::move(image), mode, std::move(cancel), std::move(dependencies));
  if (!cache) co_return cache.error();
  made->push_back(cache->directory);
  co_return cache->directory;
}

}  // namespace

asio::awaitable<TaskResult> TaskRunner::execute(AttemptPtr attempt, Execute work) {
  const TaskSpec& spec = attempt->lease.spec;
  TaskResult result = answer(*attempt, Outcome::inconclusive, Reason::none, {});
  const auto source = parts_.workspaces.find_source(spec.repository, work.commit);
  auto unit = parts_.workspaces.find_unit(spec.repository, work.commit, spec.unit,
                                          slot_of(work.side, work.variant));
  if (unit && !unit->acquired) unit.reset();
  // Made for this attempt alone, unlike what acquire or mutate recorded.
  std::string own_modcache;
  if (source && !unit && work.side == Side::before && work.unit.vendored) {
    unit = vendored_workspace(parts_.workspaces, *source, work.unit);
    if (unit) own_modcache = unit->modcache;
  }
  if (!source || !unit) {
    result.ending = Ending::lost_workspace;
    result.reason = Reason::engine;
    result.message = "the unit's snapshot or module cache is not on this worker";
    co_return result;
  }
  const auto selected =
      images::select(images::builtin_table(), parts_.images(), unit->unit.go_version,
                     work.image.empty() ? spec.settings.image : work.image,
                     spec.settings.image_without_c_compiler);
  if (!selected) {
    co_return answer(*attempt, Outcome::refused, Reason::unsupported_toolchain,
                     selected.error().text());
  }
  if (!selected->found()) co_return without_image(*attempt, *selected, unit->unit);
  const images::Available image = selected->image;

  PreparedScan scan;
  if (work.scan.wanted()) {
    auto prepared =
        co_await prepare_scan(attempt, work.scan, unit->source, unit->unit.dir, image.go_version);
    if (!prepared) {
      result.ending = Ending::interrupted;
      result.reason = Reason::engine;
      result.message = prepared.error().text();
      co_return result;
    }
    scan = *std::move(prepared);
  }
  const DependencyWish dependencies{.source = unit->source,
                                    .modcache = unit->modcache,
                                    .unit = unit->unit,
                                    .packages = spec.settings.packages,
                                    .tags = spec.settings.tags,
                                    .race = spec.settings.test.race};
  auto cache = co_await parts_.caches.fresh(image.engine_id, spec.settings.build_cache,
                                            attempt->cancel, dependencies);
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
                mode = spec.settings.build_cache, dependencies, cancel = attempt->cancel,
                extra_caches] {
    return another_cache(caches, image_id, mode, dependencies, cancel, extra_caches);
  };
  input.fresh_gocache = fresh;
  if (work.scan.wanted()) input.scan = std::move(scan.context);
  input.mounts.tools = scan.tools;
  input.mounts.vulndb = scan.vulndb;
  input.only_scan = work.only_scan;
  input.scan_limit_s = work.scan.limit_s;
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
  if (!own_modcache.empty()) (void)fs::remove_tree(own_modcache);

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
  result.scan = std::move(judgement.scan);
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

}  // namespace cupel::worker
