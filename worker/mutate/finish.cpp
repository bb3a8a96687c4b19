#include "worker/mutate/finish.hpp"

#include "common/core/digest.hpp"
#include "worker/core/change/text_diff.hpp"

#include <algorithm>
#include <utility>

namespace cupel::worker::mutation {
namespace {

constexpr std::size_t kFindingsMax = 200;

/// Adds the manifests to the edits, where they differ from the commit.
Result<void> collect_edits(Job& job) {
  if (std::holds_alternative<ApplyPatch>(job.work.change)) return {};
  if (job.in_tree) {
    auto edits = tree_edits(job.base, job.mounts.staging);
    if (!edits) return edits.error();
    job.edits.merge(*edits);
    return {};
  }
  const auto staged = read_staged(job);
  if (!staged) return staged.error();
  if (staged->mod != job.manifests.mod) {
    job.edits.emplace(job.manifests.mod_path, FileEdit{staged->mod, false});
  }
  if (staged->sum != job.manifests.sum &&
      !(staged->sum.value_or("").empty() && !job.manifests.sum)) {
    job.edits.emplace(job.manifests.sum_path, FileEdit{staged->sum, false});
  }
  return {};
}

/// The manifests of the after side, wherever they lie.
Result<void> read_after_manifests(Job& job) {
  auto& after = job.applied.after;
  const auto content = [&](const std::string& path, const std::optional<std::string>& committed) {
    const auto edit = job.edits.find(path);
    return edit == job.edits.end() ? committed : edit->second.content;
  };
  const auto mod = content(job.manifests.mod_path, job.manifests.mod);
  if (!mod) return Error{Errc::bad_value, "the change removes " + job.manifests.mod_path, {}, {}};
  after.mod = parse_go_mod(*mod);
  after.sum = content(job.manifests.sum_path, job.manifests.sum).value_or("");
  return {};
}

/// What the before side runs on: acquire may have completed the commit's manifests.
std::string tree_before(const Job& job) {
  const auto before =
      job.context.workspaces.find_unit(job.context.repository, job.work.commit, job.context.unit);
  return before ? before->facts.tree : job.source.facts.tree;
}

Mutated answer_of(Job& job, change::Assessment& assessed) {
  Mutated mutated;
  ChangeFacts& facts = mutated.facts;
  facts.tree = tree_before(job);
  facts.not_affected = assessed.not_affected;
  facts.resolved = job.pinned.empty() ? job.applied.targets : job.pinned;
  facts.moved = std::move(assessed.moved);
  facts.candidates = std::move(job.candidates);
  facts.go_before = assessed.go_before;
  facts.go_after = assessed.go_after;
  facts.gates = std::move(assessed.gates);
  mutated.findings = std::move(job.notes);
  mutated.findings.insert(mutated.findings.end(), assessed.notes.begin(), assessed.notes.end());
  if (mutated.findings.size() > kFindingsMax) mutated.findings.resize(kFindingsMax);
  mutated.unit = job.work.unit;
  mutated.unit.go_version = assessed.go_after;
  mutated.log = job.log;
  return mutated;
}

Mutated untouched(Job& job, NotAffected none) {
  change::Assessment nothing;
  nothing.not_affected = none;
  nothing.go_before = job.applied.before.mod.go_version.value_or("");
  nothing.go_after = nothing.go_before;
  return answer_of(job, nothing);
}

}  // namespace

std::optional<change::TreeFile> read_tree_file(const std::string& snapshot, const std::string& path,
                                               std::optional<Error>& failure) {
  auto file = read_snapshot_file(snapshot, path);
  if (!file) {
    // A link, or something else that lies on the way: it is there and can't be patched.
    if (file.error().code == Errc::bad_value) return change::TreeFile{{}, false, true};
    failure = file.error();
    return std::nullopt;
  }
  if (!file->content) return std::nullopt;
  return change::TreeFile{*std::move(file->content), file->executable, false};
}

Result<std::string> diff_of(const Job& job) {
  change::TreeChange tree;
  for (const auto& [path, edit] : job.edits) {
    change::FileChange file;
    std::optional<Error> failure;
    if (const auto was = read_tree_file(job.source.snapshot, path, failure)) {
      file.before = was->content;
      file.executable_before = was->executable;
    }
    if (failure) return *failure;
    file.after = edit.content;
    file.executable_after = edit.executable;
    tree.emplace(path, std::move(file));
  }
  return change::unified_diff(tree);
}

std::variant<Mutated, AcquireStopped> finish(Job& job, NotAffected none, bool& recorded) {
  if (none != NotAffected::none) return untouched(job, none);
  if (auto collected = collect_edits(job); !collected) return stopped_by(collected.error());
  if (auto read = read_after_manifests(job); !read) {
    return refused(Reason::upgrade_not_applicable, FindingKind::upgrade_error,
                   "upgrade_not_applicable: " + read.error().what);
  }
  change::Assessment assessed = change::assess_change(job.applied);
  if (assessed.nothing_left || job.edits.empty()) {
    if (assessed.not_affected == NotAffected::none) {
      assessed.not_affected = NotAffected::already_at_version;
    }
    assessed.gates.clear();
    return answer_of(job, assessed);
  }
  auto diff = job.patchable ? diff_of(job) : Result<std::string>(std::string());
  if (!diff && diff.error().code != Errc::bad_value && diff.error().code != Errc::too_large) {
    return stopped_by(diff.error());
  }
  Mutated mutated = answer_of(job, assessed);
  if (diff && !diff->empty()) {
    mutated.patch = *std::move(diff);
    mutated.facts.patch = sha256(mutated.patch);
    mutated.facts.patch_bytes = mutated.patch.size();
  } else if (!diff) {
    mutated.facts.gates.push_back({Gate::scope_exceeded, "no patch: " + diff.error().what});
  }
  Promotion promotion;
  promotion.repository = job.context.repository;
  promotion.commit = job.work.commit;
  promotion.unit = job.context.unit;
  promotion.slot = slot_of(Side::after, job.work.variant);
  promotion.base = job.base;
  promotion.base_tree = job.base_tree;
  promotion.edits = std::move(job.edits);
  promotion.workspace.modcache = job.mounts.modcache;
  promotion.workspace.unit = mutated.unit;
  // What the change did is part of what the after side's runs report.
  promotion.workspace.findings = mutated.findings;
  promotion.workspace.acquired = job.work.unit.vendored;
  auto promoted = job.context.workspaces.promote(std::move(promotion));
  if (!promoted) return stopped_by(promoted.error());
  recorded = true;
  mutated.facts.tree = promoted->facts.tree;
  return mutated;
}

}  // namespace cupel::worker::mutation
