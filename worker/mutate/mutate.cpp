#include "worker/mutate/mutate.hpp"

#include "worker/core/change/apply_patch.hpp"
#include "worker/core/change/change_words.hpp"
#include "worker/core/change/gomod_edit.hpp"
#include "worker/core/change/text_diff.hpp"
#include "worker/core/source/go_words.hpp"
#include "worker/mutate/finish.hpp"
#include "worker/mutate/job.hpp"
#include "worker/mutate/verify.hpp"
#include "worker/run/offload.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace cupel::worker {
namespace {

namespace asio = boost::asio;

using change::note;
using mutation::go;
using mutation::JobPtr;
using mutation::prepare;
using mutation::put_back;
using mutation::Staged;
using mutation::staged_now;
using mutation::Stopped;
using mutation::verify;
using Answer = std::variant<Mutated, AcquireStopped>;

/// `go get` of all targets at once.
asio::awaitable<Stopped> get(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  std::vector<std::string> words;
  for (const auto& target : job->applied.targets) {
    words.push_back(target.module + '@' + target.version);
  }
  auto ran = co_await go(job, {"get"}, std::move(words), cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  job->applied.warnings = change::warnings_of(ended.err);
  if (ended.exit_code == 0) co_return std::nullopt;
  co_return stopped_by(change::judge_get_failure(ended.err, job->applied.targets));
}

std::vector<std::string> moved_paths(const change::Applied& applied) {
  std::vector<std::string> paths;
  // A candidate that lacks a package breaks its callers: that is what a campaign of kind replace
  // wants to see.
  if (applied.may_replace) return paths;
  for (const auto& target : applied.targets) paths.push_back(target.module);
  return paths;
}

/// `go mod tidy` twice. A failure that isn't the change's fault leaves the manifests of before it.
asio::awaitable<Stopped> tidy(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  auto saved = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&saved)) co_return std::move(*stopped);
  auto first = co_await go(job, {"mod", "tidy"}, {}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&first)) co_return std::move(*stopped);
  if (std::get<GoEnded>(first).exit_code != 0) {
    auto failure =
        change::judge_tidy_failure(std::get<GoEnded>(first).err, moved_paths(job->applied));
    if (failure.refused) co_return stopped_by(std::move(failure.refusal));
    job->applied.tidy.failed = true;
    job->applied.tidy.words = std::move(failure.words);
    co_return co_await put_back(job, std::get<Staged>(saved));
  }
  auto once = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&once)) co_return std::move(*stopped);
  auto second = co_await go(job, {"mod", "tidy"}, {}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&second)) co_return std::move(*stopped);
  auto twice = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&twice)) co_return std::move(*stopped);
  job->applied.tidy.idempotent =
      std::get<GoEnded>(second).exit_code == 0 && std::get<Staged>(once) == std::get<Staged>(twice);
  co_return std::nullopt;
}

/// Whether a target that a tool directive names is needed by anything else.
asio::awaitable<Stopped> ask_tools(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  auto& applied = job->applied;
  const bool any = std::ranges::any_of(applied.targets, [&](const auto& target) {
    return change::may_be_tool_only(applied.before.mod, target.module);
  });
  if (!any) co_return std::nullopt;
  auto ran = co_await go(
      job, {"list"}, {"-e", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", "./..."},
      cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  if (ended.exit_code != 0 || ended.truncated) co_return std::nullopt;
  for (const auto& target : applied.targets) {
    if (!change::may_be_tool_only(applied.before.mod, target.module)) continue;
    const bool needed = ("\n" + ended.out).find("\n" + target.module + "\n") != std::string::npos;
    if (!needed) applied.only_for_tools.insert(target.module);
  }
  co_return std::nullopt;
}

/// Asks for the graph and the build list of the staged manifests.
asio::awaitable<Stopped> ask_after(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  auto ran = co_await go(job, {"mod", "graph"}, {}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  if (ended.exit_code != 0) {
    co_return stopped_by(change::judge_get_failure(ended.err, job->applied.targets));
  }
  auto graph = change::parse_module_graph(ended.out);
  if (!graph || ended.truncated) {
    co_return mutation::refused(Reason::parse_failed, FindingKind::acquire_error,
                                "parse_failed: the module graph could not be read");
  }
  job->applied.graph = *std::move(graph);
  co_return co_await mutation::list_modules(job, &job->applied.after.modules, cancel);
}

/// Which lines of go.sum tidy drops without any change: asked only where lines of a module that
/// stays went. Leaves the manifests of the before side.
asio::awaitable<Stopped> tidy_before(JobPtr job, Staged after,
                                     std::shared_ptr<CancelToken> cancel) {
  change::ManifestSide side;
  side.sum = after.sum.value_or("");
  side.modules = job->applied.after.modules;
  if (job->applied.tidy.failed || !change::lost_sums(job->applied.before, side)) {
    co_return std::nullopt;
  }
  if (auto stopped = co_await put_back(job, job->committed)) co_return *std::move(stopped);
  auto ran = co_await go(job, {"mod", "tidy"}, {}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  auto tidied = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&tidied)) co_return std::move(*stopped);
  if (std::get<GoEnded>(ran).exit_code == 0) {
    job->applied.before_tidied_sum = std::get<Staged>(tidied).sum.value_or("");
  }
  co_return std::nullopt;
}

/// Reads the after side back; the manifests stay as the change and tidy left them.
asio::awaitable<Stopped> read_after(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  auto staged = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&staged)) co_return std::move(*stopped);
  if (auto stopped = co_await ask_after(job, cancel)) co_return *std::move(stopped);
  if (auto stopped = co_await ask_tools(job, cancel)) co_return *std::move(stopped);
  if (auto stopped = co_await tidy_before(job, std::get<Staged>(staged), cancel)) {
    co_return *std::move(stopped);
  }
  co_return co_await put_back(job, std::get<Staged>(staged));
}

/// Kind upgrade. True in `none`: nothing to do for this unit.
asio::awaitable<Stopped> upgrade(JobPtr job, Upgrade rules, NotAffected* none,
                                 std::shared_ptr<CancelToken> cancel) {
  auto found = co_await mutation::find_targets(job, std::move(rules), cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&found)) co_return std::move(*stopped);
  auto& targets = std::get<mutation::Targets>(found);
  *none = targets.not_affected;
  if (*none != NotAffected::none) co_return std::nullopt;
  job->applied.targets = std::move(targets.exact);
  if (auto stopped = co_await put_back(job, job->committed)) co_return *std::move(stopped);
  if (auto stopped = co_await get(job, cancel)) co_return *std::move(stopped);
  if (auto stopped = co_await tidy(job, cancel)) co_return *std::move(stopped);
  co_return co_await read_after(job, cancel);
}

/// Kind go: the go line and what the go command makes of it.
asio::awaitable<Stopped> raise_go(JobPtr job, std::string version,
                                  std::shared_ptr<CancelToken> cancel) {
  job->applied.may_raise_go = true;
  std::function<std::string(const std::string&)> edit = [version](const std::string& mod) {
    return change::with_go_version(mod, version);
  };
  if (auto stopped = co_await mutation::edit_go_mod(job, std::move(edit))) {
    co_return *std::move(stopped);
  }
  auto edited = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&edited)) co_return std::move(*stopped);
  // -mod=mod writes what the new line needs (indirect requirements since 1.17) and nothing else.
  if (auto stopped = co_await ask_after(job, cancel)) co_return *std::move(stopped);
  auto asked = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&asked)) co_return std::move(*stopped);
  if (std::get<Staged>(asked).mod != std::get<Staged>(edited).mod) co_return std::nullopt;
  co_return co_await put_back(job, std::get<Staged>(edited));
}

/// Kind replace.
asio::awaitable<Stopped> replace_modules(JobPtr job, Replace replace, NotAffected* none,
                                         std::shared_ptr<CancelToken> cancel) {
  job->applied.may_replace = true;
  auto stopped = co_await mutation::place_candidates(job, std::move(replace), none, cancel);
  if (stopped) co_return *std::move(stopped);
  if (*none != NotAffected::none) co_return std::nullopt;
  if (auto failed = co_await tidy(job, cancel)) co_return *std::move(failed);
  co_return co_await read_after(job, cancel);
}

/// `go mod vendor` after the manifests are what they will be.
asio::awaitable<Stopped> vendor(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  if (!job->work.unit.vendored) co_return std::nullopt;
  auto ran = co_await go(job, {"mod", "vendor"}, {}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  if (ended.exit_code == 0) co_return std::nullopt;
  SourceRefusal why = change::judge_get_failure(ended.err, job->applied.targets);
  if (why.reason == Reason::upgrade_not_applicable)
    why.reason = Reason::vendored_change_unsupported;
  co_return stopped_by(std::move(why));
}

/// Where a change can't be made in a staged copy of the tree.
Stopped check_tree(const UnitInfo& unit) {
  if (unit.workspace.empty()) return std::nullopt;
  if (unit.vendored || unit.workspace != "go.work") {
    return mutation::refused(
        Reason::workspace_change_unsupported, FindingKind::upgrade_error,
        "workspace_change_unsupported: " + unit.workspace +
            (unit.vendored ? " vendors its modules" : " is not in the root of the repository"));
  }
  return std::nullopt;
}

/// Blocking. Kind patch: no run at all.
Stopped patch_tree(const JobPtr& job, const std::string& diff) {
  const auto fault = [](const std::string& what) {
    return mutation::refused(Reason::upgrade_not_applicable, FindingKind::upgrade_error,
                             "upgrade_not_applicable: " + what);
  };
  const auto parsed = text::read_unified_diff(diff);
  if (const auto* what = std::get_if<text::DiffFault>(&parsed)) {
    return fault((what->line > 0 ? "patch line " + std::to_string(what->line) + ": " : "") +
                 what->text);
  }
  std::optional<Error> failure;
  const auto read = [&](const std::string& path) {
    return mutation::read_tree_file(job->source.snapshot, path, failure);
  };
  auto applied = change::apply_patch(std::get<std::vector<text::FileDiff>>(parsed), read);
  if (failure) return stopped_by(*failure);
  if (const auto* what = std::get_if<change::PatchFault>(&applied)) return fault(what->text);
  for (const auto& [path, file] : std::get<change::TreeChange>(applied)) {
    job->edits.emplace(path, FileEdit{file.after, file.executable_after});
  }
  return std::nullopt;
}

/// Blocking.
Stopped check_unit(const mutation::Job& job) {
  const UnitInfo& unit = job.work.unit;
  if (unit.outcome == Outcome::passing) return std::nullopt;
  SourceRefusal why{unit.reason, {}, unit.findings};
  if (!why.findings.empty()) why.message = why.findings.front().message;
  return stopped_by(std::move(why));
}

/// The kinds that work on manifests.
asio::awaitable<Stopped> change_manifests(JobPtr job, NotAffected* none,
                                          std::shared_ptr<CancelToken> cancel) {
  auto committed = co_await staged_now(job);
  if (auto* stopped = std::get_if<AcquireStopped>(&committed)) co_return std::move(*stopped);
  job->committed = std::get<Staged>(std::move(committed));
  if (auto stopped = co_await mutation::list_modules(job, &job->applied.before.modules, cancel)) {
    co_return *std::move(stopped);
  }
  if (auto stopped = co_await put_back(job, job->committed)) co_return *std::move(stopped);
  const Change wanted = job->work.change;
  if (const auto* replace = std::get_if<Replace>(&wanted)) {
    co_return co_await replace_modules(job, *replace, none, cancel);
  }
  if (const auto* rules = std::get_if<Upgrade>(&wanted)) {
    co_return co_await upgrade(job, *rules, none, cancel);
  }
  if (const auto* version = std::get_if<GoVersionChange>(&wanted)) {
    co_return co_await raise_go(job, version->version, cancel);
  }
  co_return mutation::refused(
      Reason::upgrade_not_applicable, FindingKind::upgrade_error,
      "upgrade_not_applicable: this worker does not know the kind of change");
}

asio::awaitable<Answer> carry_out(JobPtr job, std::shared_ptr<CancelToken> cancel) {
  asio::thread_pool& files = job->context.files;
  NotAffected none = NotAffected::none;
  Stopped stopped = check_unit(*job);
  if (!stopped) {
    auto work = [job] { return prepare(job); };
    stopped = co_await offload(files, std::move(work));
  }
  if (!stopped) {
    if (const auto* patch = std::get_if<ApplyPatch>(&job->work.change)) {
      auto work = [job, diff = patch->diff] { return patch_tree(job, diff); };
      stopped = co_await offload(files, std::move(work));
    } else {
      stopped = check_tree(job->work.unit);
      if (!stopped) stopped = co_await change_manifests(job, &none, cancel);
      if (!stopped && none == NotAffected::none) stopped = co_await vendor(job, cancel);
    }
  }
  auto last = [job, stopped, none]() -> Answer {
    bool recorded = false;
    Answer answer = stopped ? Answer(*stopped) : mutation::finish(*job, none, recorded);
    discard_mounts(job->context.workspaces, job->mounts, recorded);
    if (job->base != job->source.snapshot) job->context.workspaces.discard(job->base);
    return answer;
  };
  co_return co_await offload(files, std::move(last));
}

}  // namespace

asio::awaitable<Answer> mutate(AcquireContext context, Mutate work,
                               std::vector<std::string> bundles,
                               std::shared_ptr<CancelToken> cancel) {
  // The token ends runs; a cancelled coroutine would leave directories behind.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto source = context.workspaces.find_source(context.repository, work.commit);
  if (!source) {
    AcquireStopped lost;
    lost.kind = AcquireStopped::Kind::lost;
    lost.message = "the snapshot of " + work.commit + " is not on this worker";
    co_return lost;
  }
  if (std::holds_alternative<NoChange>(work.change)) {
    co_return co_await verify(std::move(context), std::move(work), *std::move(source),
                              std::move(cancel));
  }
  const bool patch = std::holds_alternative<ApplyPatch>(work.change);
  const bool in_tree = !patch && (work.unit.vendored || !work.unit.workspace.empty());
  const auto job = std::make_shared<mutation::Job>(std::move(context), std::move(work));
  job->bundles = std::move(bundles);
  job->source = *std::move(source);
  job->base = job->source.snapshot;
  job->base_tree = job->source.facts.tree;
  job->in_tree = in_tree;
  job->applied.gated = !patch;
  co_return co_await carry_out(job, std::move(cancel));
}

}  // namespace cupel::worker
