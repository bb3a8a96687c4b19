#include "coordinator/core/planner.hpp"

#include "common/core/limits.hpp"

#include <algorithm>
#include <array>

namespace cupel::coordinator::planner {
namespace {

bool has_no_vendor_directory(const UnitInfo& unit) {
  return !unit.vendored;
}
bool always(const UnitInfo& /*unit*/) {
  return true;
}

Work modules_work(const UnitInfo& unit, const std::string& commit) {
  return AcquireModules{.commit = commit, .unit = unit};
}
Work execute_before_work(const UnitInfo& unit, const std::string& commit) {
  Execute work;
  work.commit = commit;
  work.unit = unit;
  return work;
}

constexpr std::array kValidate = {
    StageRule{Stage::modules, TaskKind::acquire, has_no_vendor_directory, modules_work},
    StageRule{Stage::execute_before, TaskKind::execute, always, execute_before_work},
};

/// The first stage from `from` on that the unit needs; nothing at the end of the row.
std::optional<NextTask> stage_from(std::size_t from, const UnitInfo& unit,
                                   const std::string& commit) {
  const auto recipe = validate_recipe();
  for (std::size_t i = from; i < recipe.size(); ++i) {
    if (!recipe[i].needed(unit)) continue;
    return NextTask{{recipe[i].stage}, recipe[i].kind, recipe[i].work(unit, commit)};
  }
  return std::nullopt;
}

std::string first_message(const UnitInfo& unit) {
  return unit.findings.empty() ? std::string(name(unit.reason)) : unit.findings.front().message;
}

Fault fault_for(Outcome outcome, Reason reason) {
  if (outcome == Outcome::failing) return Fault::repository;
  return fault_of(reason);
}

}  // namespace

std::span<const StageRule> validate_recipe() {
  return kValidate;
}

Step Step::unpacked(std::uint64_t number) {
  const auto stage = static_cast<std::uint8_t>(number & 0xFFU);
  if (stage > static_cast<std::uint8_t>(Stage::readiness)) return {};
  return {static_cast<Stage>(stage), static_cast<std::uint8_t>(number >> 8U & 0xFFU),
          static_cast<std::uint16_t>(number >> 16U & 0xFFFFU)};
}

TaskKind kind_of(Stage stage) {
  switch (stage) {
    case Stage::modules:
    case Stage::modules_after: return TaskKind::acquire;
    case Stage::mutate:
    case Stage::readiness: return TaskKind::mutate;
    case Stage::execute_before:
    case Stage::execute_after: return TaskKind::execute;
  }
  return TaskKind::acquire;
}

UnitPlan plan_unit(const UnitInfo& unit, const std::string& commit) {
  if (unit.outcome != Outcome::passing) {
    return Judgement{verdict_of(unit.outcome),
                     unit.reason,
                     fault_for(unit.outcome, unit.reason),
                     first_message(unit),
                     {}};
  }
  return *stage_from(0, unit, commit);
}

UnitPlan plan_after(Stage done, const UnitInfo& unit, const std::string& commit,
                    const TaskResult& result) {
  const auto recipe = validate_recipe();
  const auto found = std::ranges::find(recipe, done, &StageRule::stage);
  const auto index = static_cast<std::size_t>(found - recipe.begin());
  // An acquisition or a change that didn't succeed leaves nothing to execute.
  if (result.outcome == Outcome::passing && index + 1 < recipe.size()) {
    if (auto next = stage_from(index + 1, unit, commit)) return *std::move(next);
  }
  return judge(result);
}

PlannedUnit whole_repository(Judgement judgement) {
  PlannedUnit unit;
  unit.info.dir = ".";
  unit.info.reason = judgement.reason;
  switch (judgement.verdict) {
    case Verdict::refused: unit.info.outcome = Outcome::refused; break;
    case Verdict::cancelled: unit.info.outcome = Outcome::cancelled; break;
    default: unit.info.outcome = Outcome::inconclusive; break;
  }
  unit.plan = std::move(judgement);
  return unit;
}

SourcePlan plan_source(const TaskResult& result) {
  SourcePlan plan;
  if (result.outcome != Outcome::passing || !result.source) {
    PlannedUnit unit = whole_repository(judge(result));
    unit.info.findings = result.findings;
    plan.units.push_back(std::move(unit));
    return plan;
  }
  plan.pinned = true;
  plan.commit = result.source->commit;
  plan.tree = result.source->tree;
  plan.committed = result.source->committed;
  for (const UnitInfo& unit : result.source->units) {
    if (plan.units.size() == kUnitsPerRepositoryMax) break;
    plan.units.push_back({unit, plan_unit(unit, plan.commit)});
  }
  if (plan.units.empty()) {
    plan.units.push_back(whole_repository({Verdict::refused,
                                           Reason::no_go_mod,
                                           fault_of(Reason::no_go_mod),
                                           "the repository has no Go module",
                                           {}}));
  }
  return plan;
}

Judgement judge(const TaskResult& result) {
  return {verdict_of(result.outcome),
          result.reason,
          fault_for(result.outcome, result.reason),
          result.message,
          {}};
}

Judgement judge_refused(const campaign::RefusedSource& source) {
  return {verdict_of(class_of(source.reason)),
          source.reason,
          fault_of(source.reason),
          source.message,
          {}};
}

PlannedUnit refused_repository(const campaign::RefusedSource& source) {
  PlannedUnit unit = whole_repository(judge_refused(source));
  Finding finding;
  finding.kind = source.finding;
  finding.check = CheckKind::list;
  finding.message = source.message;
  finding.key = std::string(name(source.finding)) + ":" + std::string(name(source.reason));
  finding.signature = finding.key;
  unit.info.findings.push_back(std::move(finding));
  return unit;
}

Judgement judge_dead(Reason last_reason, std::string message) {
  return {Verdict::inconclusive, last_reason, Fault::fleet, std::move(message), {}};
}

Judgement judge_cancelled(std::string message) {
  return {Verdict::cancelled, Reason::none, Fault::none, std::move(message), {}};
}

Decision decide(const TaskResult& result, Spent spent, Budgets budgets) {
  if (result.ending != Ending::completed) return decide_interrupted(spent, budgets);
  const auto again_within = [&](std::uint16_t& used, std::uint16_t budget) -> Decision {
    if (used >= budget) return {budget > 0 ? Fate::accept_dead : Fate::accept, spent};
    ++used;
    return {Fate::retry, spent};
  };
  if (result.outcome != Outcome::inconclusive) return {Fate::accept, spent};
  if (result.reason == Reason::timeout) return again_within(spent.charged, budgets.charged);
  // Nobody's doing here: a proxy or a host that is busy, down or out of reach may be back soon.
  if (result.reason == Reason::upstream) {
    return again_within(spent.interruptions, budgets.interruptions);
  }
  return {Fate::accept, spent};
}

Decision decide_interrupted(Spent spent, Budgets budgets) {
  if (spent.interruptions < budgets.interruptions) {
    ++spent.interruptions;
    return {Fate::retry, spent};
  }
  return {Fate::dead, spent};
}

bool is_complete(const Work& work, const TaskResult& result) {
  if (result.ending != Ending::completed) return true;
  if (result.outcome == Outcome::cancelled) return false;  // an answer, but not to our question
  const bool passing = result.outcome == Outcome::passing;
  if (std::holds_alternative<AcquireSource>(work) && passing) {
    return result.source && !result.source->commit.empty();
  }
  if (std::holds_alternative<Mutate>(work) && passing) return result.change.has_value();
  if ((result.outcome == Outcome::inconclusive || result.outcome == Outcome::refused)) {
    return result.reason != Reason::none && class_of(result.reason) == result.outcome;
  }
  return true;
}

}  // namespace cupel::coordinator::planner
