#include "coordinator/core/culprit_search.hpp"

#include <algorithm>
#include <utility>

namespace cupel::coordinator::planner {
namespace {

/// The problem of a regression: what its first comparison confirmed.
struct Target {
  std::vector<compare::Tally> tallies;
  compare::Problems before;  ///< Of the first run.
};

bool shows(const compare::Book& book, const Target& target, const compare::Run& run) {
  const compare::Problems problems = compare::problems_of(book, run);
  const auto count = [](const compare::Problems& of, const std::string& name) {
    const auto found = of.find(name);
    return found == of.end() ? 0U : found->second.count;
  };
  return std::ranges::any_of(target.tallies, [&](const compare::Tally& tally) {
    if (!tally.package) {
      return count(problems, tally.identity) > count(target.before, tally.identity);
    }
    const std::string& package = book.marks[tally.mark].package;
    return std::ranges::any_of(problems, [&](const auto& entry) {
      return book.marks[entry.second.mark].package == package;
    });
  });
}

}  // namespace

std::optional<compare::Search> search_of(const Question& question, const Progress& progress,
                                         const compare::Conclusion& found) {
  const compare::Book& book = progress.book;
  if (!std::holds_alternative<Upgrade>(question.change) || !book.change) return std::nullopt;
  if (found.verdict != Verdict::regressed || book.change->resolved.size() < 2) return std::nullopt;
  Target target;
  for (const compare::Tally& tally : found.tallies) {
    if (tally.what == compare::Tally::What::introduced && tally.fate == compare::Fate::confirmed)
      target.tallies.push_back(tally);
  }
  target.before = compare::problems_of(book, book.before.front());
  // Probe by probe: each one's parts follow from those before it.
  std::vector<compare::Probe> known;
  const std::size_t parts = book.change->resolved.size();
  for (const ProbeRun& probe : progress.probes) {
    const compare::Search so_far = compare::search_culprit(parts, known, kProbesMax);
    if (!so_far.next) break;
    compare::ProbeOutcome outcome = compare::ProbeOutcome::unresolved;
    if (probe.unchanged) outcome = compare::ProbeOutcome::clean;
    if (probe.run && compare::is_conclusive(*probe.run)) {
      outcome = shows(book, target, *probe.run) ? compare::ProbeOutcome::shows
                                                : compare::ProbeOutcome::clean;
    }
    known.push_back({*so_far.next, outcome});
  }
  return compare::search_culprit(parts, known, kProbesMax);
}

std::vector<ModuleTarget> targets_of(const compare::ChangeNote& change,
                                     const compare::Parts& parts) {
  std::vector<ModuleTarget> targets;
  for (const std::uint16_t part : parts) targets.push_back(change.resolved.at(part));
  return targets;
}

std::vector<ModuleTarget> probe_targets(const Question& question, const UnitInfo& unit,
                                        const Progress& progress) {
  const auto found = conclusion_of(question, unit, progress);
  const auto search = found ? search_of(question, progress, *found) : std::nullopt;
  if (!search || !search->next) return {};
  return targets_of(*progress.book.change, *search->next);
}

void record_probe(Progress& progress, Step step, const TaskResult& result) {
  ProbeRun ended;
  if (step.stage == Stage::execute_after) {
    ended.run = compare::run_of(progress.book, result);
  } else if (result.outcome != Outcome::passing) {
    ended.unresolved = true;
  } else if (step.stage == Stage::modules_after) {
    progress.probe_modules = true;
    return;
  } else {
    const compare::ChangeNote note = compare::note_of(*result.change, result.task);
    const bool same = note.patch == Digest{} && note.patch_bytes == 0;
    if (!same) {
      progress.probe_changed = true;
      return;
    }
    ended.unchanged = true;
  }
  progress.probes.push_back(std::move(ended));
  progress.probe_changed = false;
  progress.probe_modules = false;
}

std::optional<Culprit> culprit_of(const Question& question, const UnitInfo& unit,
                                  const Progress& progress) {
  const auto found = conclusion_of(question, unit, progress);
  const auto search = found ? search_of(question, progress, *found) : std::nullopt;
  if (!search || search->next) return std::nullopt;
  return Culprit{targets_of(*progress.book.change, search->culprit),
                 progress.book.change->resolved.size(), progress.probes.size(), search->minimal};
}

}  // namespace cupel::coordinator::planner
