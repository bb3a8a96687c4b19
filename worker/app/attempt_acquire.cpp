#include "common/core/limits.hpp"
#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "worker/acquire/acquire.hpp"
#include "worker/acquire/go_run.hpp"
#include "worker/app/attempt.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

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

  std::string bundle;
  if (const auto* packed = std::get_if<BundleSource>(&work.source)) {
    auto directory = parts_.workspaces.new_directory("bundle");
    if (!directory) {
      result.ending = Ending::interrupted;
      result.message = directory.error().text();
      co_return result;
    }
    bundle = *directory + "/source.pack";
    auto fetched = co_await asio::co_spawn(
        parts_.bulk.executor(),
        parts_.bulk.download(attempt->key(), packed->artifact, kArtifactBytesMax, bundle,
                             kDownloadLimit,
                             [cancel = attempt->cancel] { return cancel->cancelled(); }),
        asio::use_awaitable);
    if (!fetched) {
      (void)fs::remove_tree(*directory);
      result.ending = Ending::interrupted;
      result.message = fetched.error().text();
      co_return result;
    }
  }
  auto context = context_of(parts_, attempt->runs, attempt->lease, attempt->deadline, *image);
  auto ended =
      co_await worker::acquire_source(std::move(context), std::move(work), bundle, attempt->cancel);
  if (!bundle.empty()) (void)fs::remove_tree(std::filesystem::path(bundle).parent_path());
  if (auto* stopped = std::get_if<AcquireStopped>(&ended)) {
    co_await stop_acquire(attempt, &result, std::move(*stopped));
    co_return result;
  }
  auto& acquired = std::get<SourceAcquired>(ended);
  result.source = std::move(acquired.facts);
  std::vector<CheckLog> logs;
  logs.push_back(as_check_log(std::move(acquired.log)));
  co_await upload_logs(attempt, std::move(logs), &result);
  co_return result;
}

asio::awaitable<void> TaskRunner::stop_acquire(AttemptPtr attempt, TaskResult* result,
                                               AcquireStopped stopped) {
  if (stopped.kind == AcquireStopped::Kind::refusal && parts_.downloads != nullptr) {
    // Before a repository is blamed: it may have been our own copy.
    DownloadCache* const cache = &parts_.downloads->cache();
    const bool certain = stopped.refusal.reason == Reason::checksum_mismatch;
    const auto blamed =
        co_await offload(parts_.files, [cache, certain, before = attempt->downloads_damaged] {
          return cache->to_blame(before, certain);
        });
    if (blamed && *blamed) {
      stopped.kind = AcquireStopped::Kind::interrupted;
      stopped.message =
          "the download cache had damaged versions, which were removed: " + stopped.refusal.message;
      spdlog::error("{}: {}", attempt->lease.spec.id.text(), stopped.message);
    }
  }
  stop_with(*result, std::move(stopped));
}

void TaskRunner::share_downloads(const AcquireContext& context, const std::string& commit,
                                 WorkspaceSlot slot) {
  if (parts_.downloads == nullptr || !may_use_downloads(context)) return;
  const auto unit = parts_.workspaces.find_unit(context.repository, commit, context.unit, slot);
  if (!unit) return;
  parts_.downloads->take(unit->modcache, parts_.workspaces.pin(context.repository));
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
  auto context =
      context_of(parts_, attempt->runs, attempt->lease, attempt->deadline, selected->image);
  const std::string commit = work.commit;
  const WorkspaceSlot slot = slot_of(work.side, work.variant);
  auto ended = co_await worker::acquire_modules(context, std::move(work), attempt->cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ended)) {
    co_await stop_acquire(attempt, &result, std::move(*stopped));
    co_return result;
  }
  auto& acquired = std::get<ModulesAcquired>(ended);
  share_downloads(context, commit, slot);
  parts_.metrics.module_cache(acquired.cache_hit);
  result.modules = acquired.facts;
  result.findings = std::move(acquired.findings);
  std::vector<CheckLog> logs;
  logs.push_back(as_check_log(std::move(acquired.log)));
  co_await upload_logs(attempt, std::move(logs), &result);
  co_return result;
}

}  // namespace cupel::worker
