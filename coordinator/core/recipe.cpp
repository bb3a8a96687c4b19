#include "coordinator/core/recipe.hpp"

#include "coordinator/core/compare/record.hpp"
#include "coordinator/core/compare/scan_sides.hpp"
#include "coordinator/core/culprit_search.hpp"

#include <algorithm>
#include <utility>

namespace cupel::coordinator::planner {
namespace {

NextTask next(Step step, const Question& question, const UnitInfo& unit, const std::string& commit,
              const Progress& progress) {
  return {step, kind_of(step.stage), work_of(step, question, unit, commit, &progress)};
}

std::uint8_t repeat_of(const std::vector<compare::Run>& runs) {
  return static_cast<std::uint8_t>(std::min<std::size_t>(runs.size(), 255));
}

bool tree_changed(const Progress& progress) {
  const compare::ChangeNote& note = *progress.book.change;
  if (note.patch != Digest{} || note.patch_bytes > 0) return true;
  return !progress.before_tree.empty() && !note.tree.empty() && note.tree != progress.before_tree;
}

/// An upgrade of what a scan of the before side finds.
bool goes_by_scan(const Question& question) {
  const auto* upgrade = std::get_if<Upgrade>(&question.change);
  return upgrade != nullptr && upgrade->select == Select::vulnerable;
}

/// The after side's unit: its go line may be another one, and with it its image.
UnitInfo unit_after(const UnitInfo& unit, const Progress* progress) {
  UnitInfo after = unit;
  if (progress != nullptr && progress->book.change && !progress->book.change->go_after.empty()) {
    after.go_version = progress->book.change->go_after;
  }
  return after;
}

bool go_line_changed(const Progress& progress) {
  return progress.book.change && progress.book.change->go_before != progress.book.change->go_after;
}

compare::Rules rules_of(const Question& question, const UnitInfo& unit, const Progress& progress) {
  return {question.confirm.runs, question.confirm.need,
          std::holds_alternative<GoVersionChange>(question.change) || go_line_changed(progress),
          unit.module_path};
}

/// A side that was run and is no pass or failure: nothing can be compared.
std::optional<Judgement> unproven(const compare::Run& run) {
  if (compare::is_conclusive(run)) return std::nullopt;
  const Reason reason = run.reason == Reason::none ? Reason::output_truncated : run.reason;
  const Outcome outcome = run.outcome == Outcome::refused || run.outcome == Outcome::cancelled
                              ? run.outcome
                              : Outcome::inconclusive;
  return Judgement{verdict_of(outcome), reason, fault_of(reason),
                   run.message.empty() ? std::string(name(reason)) : run.message, run.task};
}

/// The outcome of the only side that is judged.
Judgement one_sided(const compare::Run& run, Fault of_failure) {
  if (auto judgement = unproven(run)) return *std::move(judgement);
  const bool failing = run.outcome == Outcome::failing;
  return {verdict_of(run.outcome), Reason::none, failing ? of_failure : Fault::none, run.message,
          run.task};
}

Judgement not_affected(const compare::ChangeNote& note) {
  const std::string why = note.not_affected == NotAffected::none
                              ? "the change leaves the tree as it is"
                              : std::string(name(note.not_affected));
  return {Verdict::not_affected, Reason::none, Fault::none, why, note.task};
}

/// A result that ends the unit; nothing where the recipe goes on.
std::optional<Judgement> end_of(const TaskResult& result) {
  if (result.outcome == Outcome::passing) return std::nullopt;
  Judgement judgement = judge(result);
  judgement.decider = result.task;
  return judgement;
}

std::string judgement_message(Step step, const TaskResult& result) {
  const bool after = step.stage == Stage::modules_after || step.stage == Stage::mutate;
  return after ? "with the change: " + result.message : result.message;
}

void record_change(Progress& progress, const TaskResult& result) {
  compare::ChangeNote note = compare::note_of(*result.change, result.task);
  if (!progress.book.change) {
    progress.book.change = std::move(note);
    return;
  }
  // Made again on another worker: the runs so far are worth something only for the same tree.
  if (progress.book.change->tree != note.tree) {
    progress.stopped =
        judge_dead(Reason::engine, "made again after a loss, the change gave tree " + note.tree +
                                       " instead of " + progress.book.change->tree);
  }
}

/// A before side that was taken over and can't be compared with what the after side ran under is
/// run after all.
void refuse_other_conditions(const Question& question, Progress& progress) {
  if (!progress.reused || progress.book.before.size() != 1 || progress.book.after.empty()) return;
  const compare::Run& after = progress.book.after.front();
  std::vector<std::string> explained;
  const bool go_changes =
      std::holds_alternative<GoVersionChange>(question.change) || go_line_changed(progress);
  if (!compare::is_conclusive(after) ||
      compare::why_incomparable(progress.book.before.front(), after, go_changes, explained)
          .empty()) {
    return;
  }
  progress.book.before.clear();
  progress.reused.reset();
}

}  // namespace

bool Question::mutates() const {
  if (const auto* go = std::get_if<GoVersionChange>(&change)) return go->raise_directive;
  return compares();
}

std::string Question::image_after() const {
  const auto* go = std::get_if<GoVersionChange>(&change);
  return go == nullptr ? std::string() : go->version;
}

void record(Progress& progress, const Question& question, Step step, const TaskResult& result,
            WorkerId worker) {
  if (step.variant > 0) {
    record_probe(progress, step, result);
    return;
  }
  switch (step.stage) {
    case Stage::execute_before:
      compare::note_scan(progress.book, Side::before, result);
      progress.book.before.push_back(compare::run_of(progress.book, result));
      progress.book.before.back().worker = worker;
      return;
    case Stage::execute_after:
      compare::note_scan(progress.book, Side::after, result);
      progress.book.after.push_back(compare::run_of(progress.book, result));
      progress.book.after.back().worker = worker;
      refuse_other_conditions(question, progress);
      return;
    case Stage::readiness:
      // Whatever it says, the verdict stays.
      progress.book.readiness =
          compare::readiness_of(result, progress.book.change.value_or(compare::ChangeNote{}),
                                std::holds_alternative<ApplyPatch>(question.change));
      return;
    default: break;
  }
  if (auto end = end_of(result)) {
    end->message = judgement_message(step, result);
    progress.stopped = std::move(end);
    return;
  }
  if (step.stage == Stage::mutate && result.change) record_change(progress, result);
  if (step.stage == Stage::modules) {
    progress.modules_done = true;
    if (result.modules) progress.before_tree = result.modules->tree;
  }
  if (step.stage == Stage::modules_after) progress.modules_after_done = true;
}

namespace {

/// Everything but the last look at the patch.
UnitPlan plan_verdict(const Question& question, const UnitInfo& unit, const std::string& commit,
                      const Progress& progress) {
  const auto task = [&](Step step) { return next(step, question, unit, commit, progress); };
  const compare::Book& book = progress.book;
  if (progress.stopped) return *progress.stopped;
  if (!unit.vendored && !progress.modules_done) return task({Stage::modules});
  if (question.baseline != campaign::Baseline::off) {
    if (book.before.empty()) return task({Stage::execute_before});
    if (auto end = unproven(book.before.front())) {
      end->message = "before the change: " + end->message;
      return *std::move(end);
    }
    if (progress.sample && book.before.size() < 2) return task({Stage::execute_before, 1});
  }
  if (!question.compares()) return one_sided(book.before.front(), Fault::repository);
  if (question.mutates()) {
    if (!book.change && goes_by_scan(question) && !book.scan_before) {
      return Judgement{Verdict::inconclusive, Reason::scan_failed, fault_of(Reason::scan_failed),
                       "there is no conclusive scan to upgrade by",
                       book.before.empty() ? TaskId{} : book.before.front().task};
    }
    if (!book.change) return task({Stage::mutate});
    if (!tree_changed(progress)) return not_affected(*book.change);
    if (!unit.vendored && !progress.modules_after_done) return task({Stage::modules_after});
  }
  if (book.after.empty()) return task({Stage::execute_after});
  if (question.baseline == campaign::Baseline::off) {
    return one_sided(book.after.front(), Fault::change);
  }

  const compare::Conclusion found = compare::conclude(book, rules_of(question, unit, progress));
  if (found.repeat) {
    return *found.repeat == Side::after ? task({Stage::execute_after, repeat_of(book.after)})
                                        : task({Stage::execute_before, repeat_of(book.before)});
  }
  Judgement judgement{found.verdict, found.reason, found.fault, found.message, found.decider};
  const auto search = search_of(question, progress, found);
  if (!search) return judgement;
  if (search->next) {
    const auto variant = static_cast<std::uint16_t>(progress.probes.size() + 1);
    if (!progress.probe_changed) return task({Stage::mutate, 0, variant});
    if (!unit.vendored && !progress.probe_modules) return task({Stage::modules_after, 0, variant});
    return task({Stage::execute_after, 0, variant});
  }
  const std::vector<ModuleTarget> culprit = targets_of(*book.change, search->culprit);
  if (culprit.size() == book.change->resolved.size()) return judgement;
  judgement.message += " (by ";
  for (std::size_t i = 0; i < culprit.size() && i < 3; ++i) {
    judgement.message += (i == 0 ? "" : ", ") + culprit[i].module + "@" + culprit[i].version;
  }
  judgement.message += culprit.size() > 3 ? ", ...)" : ")";
  return judgement;
}

}  // namespace

UnitPlan plan_next(const Question& question, const UnitInfo& unit, const std::string& commit,
                   const Progress& progress) {
  UnitPlan plan = plan_verdict(question, unit, commit, progress);
  const auto* judgement = std::get_if<Judgement>(&plan);
  const bool ready =
      judgement != nullptr && !progress.book.readiness &&
      compare::patch_state(judgement->verdict, progress.book) == compare::PatchState::ready;
  if (!ready) return plan;
  return next({Stage::readiness}, question, unit, commit, progress);
}

Work work_of(Step step, const Question& question, const UnitInfo& unit, const std::string& commit,
             const Progress* progress) {
  switch (step.stage) {
    case Stage::modules: return AcquireModules{.commit = commit, .unit = unit};
    case Stage::modules_after:
      return AcquireModules{commit, unit_after(unit, progress), Side::after, step.variant};
    case Stage::mutate: {
      Mutate work;
      work.commit = commit;
      work.unit = unit;
      work.change = question.change;
      work.variant = step.variant;
      if (progress != nullptr && goes_by_scan(question) && progress->book.scan_before) {
        work.vulnerabilities = progress->book.scan_before->vulnerabilities;
      }
      if (progress != nullptr && progress->book.change) {
        work.resolved = progress->book.change->resolved;
      }
      if (step.variant > 0 && progress != nullptr) {
        Upgrade part;
        part.modules = probe_targets(question, unit, *progress);
        work.resolved = part.modules;
        work.change = std::move(part);
      }
      return work;
    }
    case Stage::readiness: {
      Mutate work;
      work.commit = commit;
      work.unit = unit_after(unit, progress);
      // A replacement is not what the build list calls its module.
      if (std::holds_alternative<Upgrade>(question.change) && progress != nullptr &&
          progress->book.change) {
        work.resolved = progress->book.change->resolved;
      }
      return work;
    }
    case Stage::execute_before:
    case Stage::execute_after: break;
  }
  Execute work;
  work.commit = commit;
  work.repeat = step.repeat;
  work.variant = step.variant;
  work.unit = unit;
  if (step.stage == Stage::execute_before) return work;
  work.image = question.image_after();
  // `side` says which snapshot: another Go version alone leaves the one that there is.
  if (!question.mutates()) return work;
  work.side = Side::after;
  work.unit = unit_after(unit, progress);
  return work;
}

std::string image_for(const Question& question, const Work& work) {
  const auto* modules = std::get_if<AcquireModules>(&work);
  const auto* mutate = std::get_if<Mutate>(&work);
  const bool after = (modules != nullptr && modules->side == Side::after) ||
                     (mutate != nullptr && std::holds_alternative<NoChange>(mutate->change));
  return after ? question.image_after() : std::string();
}

Needs needs(Step step, const Question& question, bool vendored) {
  Needs steps;
  if (step.stage == Stage::modules) return steps;
  if (!vendored) steps.add({Stage::modules});
  const bool runs = step.stage == Stage::execute_after || step.stage == Stage::readiness;
  const bool after = step.stage == Stage::modules_after || runs;
  if (!after || !question.mutates()) return steps;
  steps.add({Stage::mutate, 0, step.variant});
  if (runs && !vendored) {
    steps.add({Stage::modules_after, 0, step.variant});
  }
  return steps;
}

std::optional<compare::Conclusion> conclusion_of(const Question& question, const UnitInfo& unit,
                                                 const Progress& progress) {
  if (progress.book.before.empty() || progress.book.after.empty()) return std::nullopt;
  return compare::conclude(progress.book, rules_of(question, unit, progress));
}

}  // namespace cupel::coordinator::planner
