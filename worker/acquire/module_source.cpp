#include "worker/acquire/module_source.hpp"

#include "common/fs/files.hpp"
#include "worker/acquire/go_run.hpp"
#include "worker/acquire/staging.hpp"
#include "worker/core/source/go_words.hpp"
#include "worker/core/source/gomod.hpp"
#include "worker/run/offload.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

constexpr const char* kSumPrefix = "sum:";
// The go command wants a main module; this one requires nothing and is thrown away.
constexpr const char* kEmptyModule = "module cupel.invalid/acquire\n\ngo 1.16\n";

struct ModuleJob {
  AcquireContext context;
  ModuleSource module;
  std::string pinned;
  SnapshotLimits limits;
  std::string empty_source;
  AcquireMounts mounts;
  AcquireLog log;
};
using ModuleJobPtr = std::shared_ptr<ModuleJob>;
using Answer = std::variant<DownloadedSource, AcquireStopped>;

/// One word for a command line, neither an option nor a second version.
bool is_plain_word(const std::string& text) {
  return !text.empty() && text.size() <= 1024 && text.front() != '-' &&
         std::ranges::none_of(text,
                              [](unsigned char c) { return c <= 0x20 || c == 0x7f || c == '@'; });
}

/// Blocking.
std::optional<AcquireStopped> prepare_module(const ModuleJobPtr& job) {
  Workspaces& workspaces = job->context.workspaces;
  auto source = workspaces.new_directory("empty");
  if (!source) return stopped_by(source.error());
  job->empty_source = *source;
  ::chmod(source->c_str(), 0755);
  if (auto made = fs::create_file_durably(*source + "/go.mod", kEmptyModule, 0444); !made) {
    return stopped_by(made.error());
  }
  auto mounts = make_mounts(workspaces, *source);
  if (!mounts) return stopped_by(mounts.error());
  job->mounts = *std::move(mounts);
  UnitInfo unit;
  unit.dir = ".";
  if (auto staged = stage_manifests(*source, unit, job->mounts.staging); !staged) {
    return stopped_by(staged.error());
  }
  return std::nullopt;
}

/// Blocking.
Answer unpack(const ModuleJobPtr& job, const DownloadedModule& module) {
  const auto zip = host_path(job->mounts.modcache, module.zip);
  const auto go_mod_file = host_path(job->mounts.modcache, module.go_mod);
  if (!zip || !go_mod_file || module.sum.empty()) {
    return stopped_by(
        refusal(Reason::acquire_incomplete, FindingKind::acquire_error,
                "acquire_incomplete: the go command named no zip for " + module.path));
  }
  const std::string sum = kSumPrefix + module.sum;
  if (!job->pinned.empty() && job->pinned != sum) {
    return stopped_by(refusal(Reason::checksum_mismatch, FindingKind::security,
                              "checksum mismatch: " + module.path + '@' + module.version + " is " +
                                  sum + ", pinned was " + job->pinned));
  }
  const auto go_mod = fs::read_file(*go_mod_file, kManifestBytesMax);
  if (!go_mod) return stopped_by(go_mod.error());
  Workspaces& workspaces = job->context.workspaces;
  auto parent = workspaces.new_directory("source");
  if (!parent) return stopped_by(parent.error());
  auto unpacked =
      unpack_module_zip(*zip, module.path, module.version, *go_mod, *parent, job->limits);
  if (unpacked && std::holds_alternative<Snapshot>(*unpacked)) {
    return DownloadedSource{std::get<Snapshot>(*std::move(unpacked)), sum, module.version,
                            job->log};
  }
  workspaces.discard(*parent);
  if (!unpacked) return stopped_by(unpacked.error());
  return stopped_by(std::get<SourceRefusal>(*std::move(unpacked)));
}

/// The module cache with the proved zip: for the download cache where there is one, else removed.
/// Blocking.
void leave_modcache(const ModuleJob& job) {
  Workspaces* const workspaces = &job.context.workspaces;
  const std::string modcache = job.mounts.modcache;
  const std::shared_ptr<void> keep(
      nullptr, [workspaces, modcache](std::nullptr_t) { workspaces->discard(modcache); });
  if (job.context.policy.share && may_use_downloads(job.context)) {
    job.context.policy.share(modcache, keep);
  }
}

asio::awaitable<std::variant<DownloadedModule, AcquireStopped>> download(
    ModuleJobPtr job, std::shared_ptr<CancelToken> cancel) {
  const std::string query = job->module.path + '@' + job->module.version;
  GoCommand command;
  command.arguments = {"mod", "download", "-modfile=/staging/go.mod", "-json", query};
  auto ran =
      co_await run_go(job->context, job->mounts, std::move(command), std::move(cancel), &job->log);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  const auto parsed = parse_download_json(ended.out);
  auto modules = parsed ? *parsed : std::vector<DownloadedModule>{};
  if (ended.exit_code != 0) {
    SourceRefusal why = judge_go_failure(ended.err, modules);
    why.findings.front().package = query;
    co_return stopped_by(std::move(why));
  }
  if (modules.size() != 1) {
    co_return stopped_by(
        refusal(Reason::acquire_incomplete, FindingKind::acquire_error,
                "acquire_incomplete: the go command named no module for " + query));
  }
  co_return std::move(modules.front());
}

}  // namespace

asio::awaitable<Answer> download_module(AcquireContext context, ModuleSource module,
                                        std::string pinned, SnapshotLimits limits,
                                        std::shared_ptr<CancelToken> cancel) {
  if (!is_plain_word(module.path) || !is_plain_word(module.version)) {
    co_return stopped_by(refusal(Reason::bad_version_query, FindingKind::acquire_error,
                                 "bad_version_query: '" + shown_path(module.path) + '@' +
                                     shown_path(module.version) + "' is no module@version"));
  }
  asio::thread_pool& files = context.files;
  const auto job = std::make_shared<ModuleJob>(
      ModuleJob{std::move(context), std::move(module), std::move(pinned), limits, {}, {}, {}});
  auto stopped = co_await offload(files, [job] { return prepare_module(job); });
  std::optional<DownloadedModule> downloaded;
  if (!stopped) {
    auto answer = co_await download(job, std::move(cancel));
    if (auto* failed = std::get_if<AcquireStopped>(&answer)) {
      stopped = std::move(*failed);
    } else {
      downloaded = std::get<DownloadedModule>(std::move(answer));
    }
  }
  co_return co_await offload(files, [job, stopped, downloaded]() -> Answer {
    Answer answer = stopped ? Answer(*stopped) : unpack(job, *downloaded);
    Workspaces& workspaces = job->context.workspaces;
    const bool whole = std::holds_alternative<DownloadedSource>(answer);
    discard_mounts(workspaces, job->mounts, whole);
    if (whole) leave_modcache(*job);
    if (!job->empty_source.empty()) workspaces.discard(job->empty_source);
    return answer;
  });
}

}  // namespace cupel::worker
