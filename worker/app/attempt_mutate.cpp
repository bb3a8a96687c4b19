#include "common/core/limits.hpp"
#include "common/fs/files.hpp"
#include "common/images/table.hpp"
#include "worker/app/attempt.hpp"
#include "worker/core/change/change_words.hpp"
#include "worker/mutate/mutate.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <filesystem>
#include <optional>
#include <utility>

namespace cupel::worker {

namespace asio = boost::asio;

namespace {

/// The go line that the toolchain has to understand: the change's own where it sets one.
std::string wanted_go(const Mutate& work) {
  const auto* go = std::get_if<GoVersionChange>(&work.change);
  return go != nullptr && go->raise_directive ? go->version : work.unit.go_version;
}

/// Host paths of the packs that were downloaded for candidates, by index.
void remove_bundles(const std::vector<std::string>& bundles) {
  for (const auto& file : bundles) {
    if (!file.empty()) (void)fs::remove_tree(std::filesystem::path(file).parent_path());
  }
}

bool newer_toolchain_wanted(const std::variant<Mutated, AcquireStopped>& ended) {
  const auto* stopped = std::get_if<AcquireStopped>(&ended);
  return stopped != nullptr && stopped->kind == AcquireStopped::Kind::refusal &&
         stopped->refusal.reason == Reason::requires_newer_toolchain;
}

}  // namespace

asio::awaitable<std::optional<Error>> TaskRunner::download_bundles(
    AttemptPtr attempt, Replace replace, std::vector<std::string>* bundles) {
  for (const auto& one : replace.modules) {
    bundles->emplace_back();
    const auto* packed = std::get_if<BundleSource>(&one.with);
    if (packed == nullptr) continue;
    auto directory = parts_.workspaces.new_directory("bundle");
    if (!directory) co_return directory.error();
    bundles->back() = *directory + "/source.pack";
    auto fetched = co_await asio::co_spawn(
        parts_.bulk.executor(),
        parts_.bulk.download(attempt->key(), packed->artifact, kArtifactBytesMax, bundles->back(),
                             kDownloadLimit),
        asio::use_awaitable);
    if (!fetched) co_return fetched.error();
  }
  co_return std::nullopt;
}

asio::awaitable<TaskResult> TaskRunner::mutate(AttemptPtr attempt, Mutate work) {
  TaskResult result = answer(*attempt, Outcome::passing, Reason::none, {});
  const ValidationSettings& settings = attempt->lease.spec.settings;
  const auto* go_change = std::get_if<GoVersionChange>(&work.change);
  const std::string setting = go_change != nullptr ? go_change->version : settings.image;
  auto selected = images::select(images::builtin_table(), parts_.images(), wanted_go(work), setting,
                                 settings.image_without_c_compiler);
  if (std::holds_alternative<NoChange>(work.change) && (!selected || !selected->found())) {
    // The after side's go line may need another image than the campaign names for the before side.
    selected = images::select(images::builtin_table(), parts_.images(), wanted_go(work), "auto",
                              settings.image_without_c_compiler);
  }
  if (!selected) {
    co_return answer(*attempt, Outcome::refused, Reason::unsupported_toolchain,
                     selected.error().text());
  }
  if (!selected->found()) co_return without_image(*attempt, *selected, work.unit);

  std::vector<std::string> bundles;
  if (const auto* replace = std::get_if<Replace>(&work.change)) {
    const auto failed = co_await download_bundles(attempt, *replace, &bundles);
    if (failed) {
      remove_bundles(bundles);
      result.ending = Ending::interrupted;
      result.message = failed->text();
      co_return result;
    }
  }
  auto run = [&](const images::Available& image) {
    return worker::mutate(
        context_of(parts_, attempt->runs, attempt->lease, attempt->deadline, image), work, bundles,
        attempt->cancel);
  };
  images::Available image = selected->image;
  auto ended = co_await run(image);
  if (newer_toolchain_wanted(ended) && (setting.empty() || setting == "auto")) {
    // The new version may need a newer Go than the old go line says; the after side may have it.
    const std::string needed =
        change::required_go(std::get<AcquireStopped>(ended).refusal.findings.front().message);
    const auto newer = images::select(images::builtin_table(), parts_.images(), needed, setting,
                                      settings.image_without_c_compiler);
    if (!needed.empty() && newer && newer->found() && newer->image.engine_id != image.engine_id) {
      image = newer->image;
      ended = co_await run(image);
    }
  }
  remove_bundles(bundles);
  result.evidence.image = image.identity;
  result.evidence.go_version = image.go_version;
  if (auto* stopped = std::get_if<AcquireStopped>(&ended)) {
    co_await stop_acquire(attempt, &result, std::move(*stopped));
    co_return result;
  }
  auto& mutated = std::get<Mutated>(ended);
  result.change = std::move(mutated.facts);
  result.findings = std::move(mutated.findings);
  if (!mutated.patch.empty()) {
    auto uploaded =
        co_await asio::co_spawn(parts_.bulk.executor(),
                                parts_.bulk.upload(attempt->key(), result.change->patch,
                                                   std::move(mutated.patch), kUploadLimit),
                                asio::use_awaitable);
    if (!uploaded) {
      result.ending = Ending::interrupted;
      result.message = uploaded.error().text();
      co_return result;
    }
  }
  std::vector<CheckLog> logs;
  logs.push_back(as_check_log(std::move(mutated.log), "mutate"));
  co_await upload_logs(attempt, std::move(logs), &result);
  co_return result;
}

}  // namespace cupel::worker
