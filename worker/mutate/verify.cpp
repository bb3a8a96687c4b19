#include "worker/mutate/verify.hpp"

#include "worker/core/change/change_words.hpp"
#include "worker/core/change/text_diff.hpp"
#include "worker/mutate/finish.hpp"
#include "worker/mutate/job.hpp"
#include "worker/run/offload.hpp"

#include <utility>

namespace cupel::worker::mutation {
namespace {

namespace asio = boost::asio;

struct Check {
  JobPtr job;
  UnitWorkspace after;
  std::string made;       ///< The tree that the change made; the after side where that ran as made.
  std::string made_here;  ///< Its directory, where it had to be made again for this look.
  Mutated answer;
};
using CheckPtr = std::shared_ptr<Check>;

void add(Check& check, Gate gate, std::string detail) {
  check.answer.facts.gates.push_back({gate, std::move(detail)});
}

std::string first_line(const std::string& text) {
  const auto begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Blocking. The after side without what acquire completed in its manifests.
Result<std::string> make_again(Check& check) {
  Workspaces& workspaces = check.job->context.workspaces;
  auto parent = workspaces.new_directory("source");
  if (!parent) return parent.error();
  check.made_here = *parent;
  auto derived = derive_snapshot(check.after.source, check.after.uncompleted, *parent);
  if (!derived) return derived.error();
  check.made = derived->dir.string();
  return derived->tree;
}

/// Blocking. What the files are now, and what they differ in from the commit.
Stopped recompute(const CheckPtr& check) {
  Job& job = *check->job;
  ChangeFacts& facts = check->answer.facts;
  const auto tree = tree_digest(check->after.source);
  if (!tree) return stopped_by(tree.error());
  facts.tree = *tree;
  if (*tree != check->after.facts.tree) {
    add(*check, Gate::candidate_tree_mismatch,
        "the files are tree " + *tree + ", recorded was " + check->after.facts.tree);
  }
  check->made = check->after.source;
  if (!check->after.uncompleted.empty()) {
    auto made = make_again(*check);
    if (!made) return stopped_by(made.error());
    facts.tree = *std::move(made);
  }
  auto edits = tree_edits(job.source.snapshot, check->made);
  if (!edits) return stopped_by(edits.error());
  job.edits = *std::move(edits);
  const auto diff = diff_of(job);
  if (!diff) return stopped_by(diff.error());
  facts.patch = diff->empty() ? Digest{} : sha256(*diff);
  facts.patch_bytes = diff->size();
  // From here on the after side is what is looked at.
  job.source.snapshot = check->made;
  job.base = check->made;
  job.base_tree = facts.tree;
  return prepare(check->job);
}

asio::awaitable<Stopped> check_tidy(CheckPtr check, std::shared_ptr<CancelToken> cancel) {
  auto before = co_await staged_now(check->job);
  if (auto* stopped = std::get_if<AcquireStopped>(&before)) co_return std::move(*stopped);
  auto ran = co_await go(check->job, {"mod", "tidy"}, {}, cancel);
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  if (std::get<GoEnded>(ran).exit_code != 0) {
    auto failure = change::judge_tidy_failure(std::get<GoEnded>(ran).err, {});
    if (failure.refused) co_return stopped_by(std::move(failure.refusal));
    add(*check, Gate::tidy_failed, first_line(failure.words));
    co_return co_await put_back(check->job, std::get<Staged>(before));
  }
  auto after = co_await staged_now(check->job);
  if (auto* stopped = std::get_if<AcquireStopped>(&after)) co_return std::move(*stopped);
  if (std::get<Staged>(before) == std::get<Staged>(after)) co_return std::nullopt;
  add(*check, Gate::not_tidy, "go mod tidy changed go.mod or go.sum of the after side");
  co_return co_await put_back(check->job, std::get<Staged>(before));
}

/// On the very module cache that the after side was run with.
asio::awaitable<Stopped> check_modules(CheckPtr check, std::shared_ptr<CancelToken> cancel) {
  AcquireMounts& mounts = check->job->mounts;
  const std::string own = std::exchange(mounts.modcache, check->after.modcache);
  auto ran = co_await go(check->job, {"mod", "verify"}, {}, cancel);
  mounts.modcache = own;
  if (auto* stopped = std::get_if<AcquireStopped>(&ran)) co_return std::move(*stopped);
  const auto& ended = std::get<GoEnded>(ran);
  const bool good =
      ended.exit_code == 0 && ended.out.find("all modules verified") != std::string::npos;
  if (!good) {
    add(*check, Gate::verify_failed,
        "go mod verify: " + first_line(ended.err.empty() ? ended.out : ended.err));
  }
  co_return std::nullopt;
}

asio::awaitable<Stopped> check_targets(CheckPtr check, std::shared_ptr<CancelToken> cancel) {
  const std::vector<ModuleTarget>& targets = check->job->work.resolved;
  if (targets.empty()) co_return std::nullopt;
  change::BuildList modules;
  if (auto stopped = co_await list_modules(check->job, &modules, cancel)) {
    co_return *std::move(stopped);
  }
  for (const ModuleTarget& target : targets) {
    const auto now = modules.find(target.module);
    if (now != modules.end() && now->second.version == target.version) continue;
    add(*check, Gate::target_not_in_build_list,
        target.module + '@' + target.version + ": selected is " +
            (now == modules.end() ? "none" : now->second.version));
  }
  co_return std::nullopt;
}

asio::awaitable<Stopped> run_checks(CheckPtr check, std::shared_ptr<CancelToken> cancel) {
  auto begin = [check] { return recompute(check); };
  if (auto stopped = co_await offload(check->job->context.files, std::move(begin))) {
    co_return *std::move(stopped);
  }
  // In this order: what tidy or a list may complete is put back before the next one looks.
  if (auto stopped = co_await check_tidy(check, cancel)) co_return *std::move(stopped);
  if (auto stopped = co_await check_modules(check, cancel)) co_return *std::move(stopped);
  co_return co_await check_targets(check, cancel);
}

}  // namespace

asio::awaitable<std::variant<Mutated, AcquireStopped>> verify(AcquireContext context, Mutate work,
                                                              SourceWorkspace source,
                                                              std::shared_ptr<CancelToken> cancel) {
  using Answer = std::variant<Mutated, AcquireStopped>;
  auto after = context.workspaces.find_unit(context.repository, work.commit, context.unit,
                                            slot_of(Side::after, work.variant));
  if (!after) {
    AcquireStopped lost;
    lost.kind = AcquireStopped::Kind::lost;
    lost.message = "the after side is not on this worker";
    co_return lost;
  }
  const bool in_tree = work.unit.vendored || !work.unit.workspace.empty();
  const auto job = std::make_shared<Job>(std::move(context), std::move(work));
  job->source = std::move(source);
  job->in_tree = in_tree;
  const auto check = std::make_shared<Check>(Check{job, *std::move(after), {}, {}, {}});
  check->answer.facts.resolved = job->work.resolved;
  check->answer.facts.go_before = job->work.unit.go_version;
  check->answer.facts.go_after = job->work.unit.go_version;
  check->answer.unit = job->work.unit;
  auto stopped = co_await run_checks(check, std::move(cancel));
  auto last = [check, stopped]() -> Answer {
    Workspaces& workspaces = check->job->context.workspaces;
    discard_mounts(workspaces, check->job->mounts, false);
    if (!check->made_here.empty()) workspaces.discard(check->made_here);
    if (stopped) return *stopped;
    check->answer.log = check->job->log;
    return check->answer;
  };
  co_return co_await offload(job->context.files, std::move(last));
}

}  // namespace cupel::worker::mutation
