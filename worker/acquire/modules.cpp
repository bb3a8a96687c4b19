#include "worker/acquire/acquire.hpp"
#include "worker/acquire/go_run.hpp"
#include "worker/acquire/staging.hpp"
#include "worker/core/source/go_words.hpp"
#include "worker/core/source/gomod.hpp"
#include "worker/fs/snapshot.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

using Stopped = std::optional<AcquireStopped>;

/// Prints one line for each package that can't be loaded; exits 0 all the same.
constexpr const char* kErrorTemplate = "{{if .Error}}{{.ImportPath}}: {{.Error}}{{end}}";

/// What the pieces of one acquire share.
struct Job {
  [[nodiscard]] const std::string& snapshot() const {
    return after ? after->source : source.snapshot;
  }
  [[nodiscard]] const std::string& tree() const {
    return after ? after->facts.tree : source.facts.tree;
  }
  [[nodiscard]] WorkspaceSlot slot() const { return slot_of(work.side, work.variant); }

  AcquireContext context;
  AcquireModules work;
  SourceWorkspace source;
  /// The after side that mutate recorded: its snapshot and module cache are filled further.
  std::optional<UnitWorkspace> after;
  AcquireMounts mounts;
  Manifests manifests;
  AcquireLog log;
};
using JobPtr = std::shared_ptr<Job>;

asio::awaitable<std::variant<GoEnded, AcquireStopped>> go(JobPtr job,
                                                          std::vector<std::string> arguments,
                                                          std::shared_ptr<CancelToken> cancel) {
  GoCommand command;
  command.arguments = std::move(arguments);
  command.workdir = job->work.unit.dir;
  command.workspace = job->work.unit.workspace;
  co_return co_await run_go(job->context, job->mounts, std::move(command), std::move(cancel),
                            &job->log);
}

/// A unit of its own: everything of the build list, and every line of go.sum.
asio::awaitable<Stopped> download_all(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  const std::string modfile = "-modfile=/staging/go.mod";
  auto ran = co_await go(job, {"mod", "download", modfile, "-json", "all"}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& downloaded = std::get<GoEnded>(ran);
  if (downloaded.exit_code != 0) {
    const auto parsed = parse_download_json(downloaded.out);
    const auto modules = parsed ? *parsed : std::vector<DownloadedModule>{};
    const SourceRefusal why = judge_go_failure(downloaded.err, modules);
    if (!only_missing_modules(downloaded.err, modules)) co_return stopped_by(why);
    // A module that the proxy doesn't have may be one that no package needs: then nothing is
    // missing.
    auto listed = co_await go(job, {"list", modfile, "-deps", "-test", "./..."}, cancel);
    if (auto* stopped = std::get_if<AcquireStopped>(&listed)) co_return std::move(*stopped);
    if (std::get<GoEnded>(listed).exit_code != 0) co_return stopped_by(why);
  }
  auto verified = co_await go(job, {"mod", "verify", modfile}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&verified)) co_return std::move(*stopped);
  const auto& verdict = std::get<GoEnded>(verified);
  if (verdict.exit_code == 0) co_return std::nullopt;
  if (verdict.err.find("has been modified") != std::string::npos) {
    co_return stopped_by(refusal(Reason::checksum_mismatch, FindingKind::security,
                                 "checksum_mismatch: " + capped_detail(verdict.err)));
  }
  // Modules that the download left out can't be verified either; that was judged above.
  if (downloaded.exit_code != 0) co_return std::nullopt;
  co_return stopped_by(judge_go_failure(verdict.err, {}));
}

/// A member of a workspace: what its packages and tests need. `go mod download` and `verify` don't
/// work there.
asio::awaitable<Stopped> list_workspace(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  auto ran =
      co_await go(job, {"list", "-e", "-deps", "-test", "-f", kErrorTemplate, "./..."}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& listed = std::get<GoEnded>(ran);
  if (listed.exit_code != 0) co_return stopped_by(judge_go_failure(listed.err, {}));
  // Packages that can't be loaded are findings of execute, unless a module was out of reach.
  const SourceRefusal why = judge_go_failure(listed.out, {});
  const bool ours = why.reason != Reason::acquire_incomplete && !listed.out.empty();
  // A member that the staged go.work doesn't list has had nothing fetched.
  const bool no_member =
      listed.out.find("does not contain modules listed in go.work") != std::string::npos;
  if (ours || no_member) co_return stopped_by(why);
  co_return std::nullopt;
}

/// On the after side the change and `go mod tidy` have the say over go.mod: only lines of go.sum
/// may be completed.
void drop_gated(Completion& completion, const Manifests& manifests) {
  if (completion.changed.erase(manifests.mod_path) == 0) return;
  std::erase_if(completion.notes,
                [&](const Finding& note) { return note.file == manifests.mod_path; });
}

/// What undoes the completion of these files. Blocking.
Result<TreeEdits> undoing(const Completion& completion, const std::string& snapshot) {
  TreeEdits edits;
  for (const auto& [path, completed] : completion.changed) {
    auto file = read_snapshot_file(snapshot, path);
    if (!file) return file.error();
    edits.emplace(path, *std::move(file));
  }
  return edits;
}

/// Measures, completes, records. Blocking.
std::variant<ModulesAcquired, AcquireStopped> record(const JobPtr& job) {
  Workspaces& workspaces = job->context.workspaces;
  auto completion = read_completion(job->manifests, job->work.unit, job->mounts.staging);
  if (!completion) return stopped_by(completion.error());
  UnitWorkspace unit;
  unit.source = job->snapshot();
  unit.modcache = job->mounts.modcache;
  unit.unit = job->work.unit;
  if (job->manifests.go_line_added) unit.unit.go_version = "1.16";
  unit.facts.tree = job->tree();
  if (job->after) {
    drop_gated(*completion, job->manifests);
    auto undo = undoing(*completion, job->snapshot());
    if (!undo) return stopped_by(undo.error());
    // What an earlier acquisition completed was the first to differ from the change's own.
    unit.uncompleted = job->after->uncompleted;
    unit.uncompleted.merge(*undo);
  }
  if (!completion->changed.empty()) {
    auto parent = workspaces.new_directory("source");
    if (!parent) return stopped_by(parent.error());
    auto derived = derive_snapshot(job->snapshot(), completion->changed, *parent);
    if (!derived) {
      workspaces.discard(*parent);
      return stopped_by(derived.error());
    }
    unit.source = derived->dir.string();
    unit.facts.tree = derived->tree;
    unit.facts.completed = true;
  }
  const CacheSize size = measure_cache(job->mounts.modcache);
  unit.facts.modules = size.modules;
  unit.facts.cache_bytes = size.bytes;
  if (job->after) unit.findings = job->after->findings;
  unit.findings.insert(unit.findings.end(), completion->notes.begin(), completion->notes.end());
  auto recorded = workspaces.record_unit(job->context.repository, job->work.commit,
                                         job->context.unit, unit, job->slot());
  if (!recorded) {
    if (unit.facts.completed) workspaces.discard(unit.source);
    return stopped_by(recorded.error());
  }
  ModulesAcquired acquired;
  acquired.facts = unit.facts;
  acquired.unit = unit.unit;
  acquired.findings = std::move(completion->notes);
  acquired.log = job->log;
  return acquired;
}

/// Nothing to download: the copies in the tree are all there is. Blocking.
std::variant<ModulesAcquired, AcquireStopped> record_vendored(const JobPtr& job) {
  Workspaces& workspaces = job->context.workspaces;
  auto mounts = make_mounts(workspaces, job->snapshot());
  if (!mounts) return stopped_by(mounts.error());
  discard_mounts(workspaces, *mounts, true);
  // Vendored: what mutate downloaded must not be seen, the copies in the tree are what counts.
  UnitWorkspace unit;
  unit.source = job->snapshot();
  unit.modcache = mounts->modcache;
  unit.unit = job->work.unit;
  unit.facts.tree = job->tree();
  auto recorded = workspaces.record_unit(job->context.repository, job->work.commit,
                                         job->context.unit, unit, job->slot());
  if (!recorded) {
    workspaces.discard(unit.modcache);
    return stopped_by(recorded.error());
  }
  ModulesAcquired acquired;
  acquired.facts = unit.facts;
  acquired.unit = unit.unit;
  return acquired;
}

/// Blocking. Fills mounts and manifests of the job.
Stopped prepare(const JobPtr& job) {
  auto mounts = make_mounts(job->context.workspaces, job->snapshot());
  if (!mounts) return stopped_by(mounts.error());
  job->mounts = *std::move(mounts);
  if (job->after) {
    // What mutate downloaded is of use.
    job->context.workspaces.discard(job->mounts.modcache);
    job->mounts.modcache = job->after->modcache;
  }
  auto manifests = stage_manifests(job->snapshot(), job->work.unit, job->mounts.staging);
  if (!manifests) return stopped_by(manifests.error());
  job->manifests = *std::move(manifests);
  if (job->manifests.sum) {
    if (const auto fault = check_go_sum(*job->manifests.sum)) {
      return stopped_by(refusal(
          Reason::bad_go_sum, FindingKind::manifest_error,
          job->manifests.sum_path + ':' + std::to_string(fault->place.line) + ": " + fault->text,
          job->manifests.sum_path, fault->place.line));
    }
  }
  return std::nullopt;
}

}  // namespace

asio::awaitable<std::variant<ModulesAcquired, AcquireStopped>> acquire_modules(
    AcquireContext context, AcquireModules work, std::shared_ptr<CancelToken> cancel) {
  // The token ends runs; a cancelled coroutine would leave directories behind.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto source = context.workspaces.find_source(context.repository, work.commit);
  if (!source) {
    AcquireStopped lost;
    lost.kind = AcquireStopped::Kind::lost;
    lost.message = "the snapshot of " + work.commit + " is not on this worker";
    co_return lost;
  }
  asio::thread_pool& files = context.files;
  const auto job = std::make_shared<Job>(
      Job{std::move(context), std::move(work), *std::move(source), {}, {}, {}, {}});
  if (job->work.side == Side::after) {
    job->after = job->context.workspaces.find_unit(job->context.repository, job->work.commit,
                                                   job->context.unit, job->slot());
    if (!job->after) {
      AcquireStopped lost;
      lost.kind = AcquireStopped::Kind::lost;
      lost.message = "the after side of this unit is not on this worker";
      co_return lost;
    }
    job->work.unit = job->after->unit;
  }
  if (job->work.unit.outcome != Outcome::passing) {
    SourceRefusal why{job->work.unit.reason, {}, job->work.unit.findings};
    if (!why.findings.empty()) why.message = why.findings.front().message;
    co_return stopped_by(std::move(why));
  }
  if (job->work.unit.vendored) {
    co_return co_await offload(files, [job] { return record_vendored(job); });
  }
  Stopped stopped = co_await offload(files, [job] { return prepare(job); });
  if (!stopped) {
    stopped = job->work.unit.workspace.empty() ? co_await download_all(job, cancel)
                                               : co_await list_workspace(job, cancel);
  }
  using ModulesAnswer = std::variant<ModulesAcquired, AcquireStopped>;
  co_return co_await offload(files, [job, stopped]() -> ModulesAnswer {
    ModulesAnswer answer = stopped ? ModulesAnswer(*stopped) : record(job);
    const bool recorded = std::holds_alternative<ModulesAcquired>(answer);
    discard_mounts(job->context.workspaces, job->mounts, recorded || job->after.has_value());
    return answer;
  });
}

}  // namespace cupel::worker
