/// What comes next for a repository, a unit and a task: pure functions over results.
///
/// Here: the plain validation, a row of two stages, and what all recipes share. Campaigns with two
/// sides are in recipe.hpp.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/core/task.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::coordinator::planner {

/// Numbers are in the store: only ever added.
enum class Stage : std::uint8_t {
  modules,
  execute_before,
  mutate,
  modules_after,
  execute_after,
  readiness,  ///< The last look at an after side whose patch is ready.
};

/// What a task of a unit is for. One task of a unit is open at a time, and one more may wait for
/// it.
struct Step {
  Stage stage = Stage::modules;
  std::uint8_t repeat = 0;    ///< 0: the first run of its side.
  std::uint16_t variant = 0;  ///< As Mutate::variant.

  /// As the store keeps it.
  [[nodiscard]] constexpr std::uint32_t packed() const {
    return static_cast<std::uint32_t>(stage) | std::uint32_t{repeat} << 8U |
           std::uint32_t{variant} << 16U;
  }
  /// An unknown stage (a newer version's) becomes the first one.
  [[nodiscard]] static Step unpacked(std::uint64_t number);
  friend constexpr bool operator==(const Step&, const Step&) = default;
};
[[nodiscard]] TaskKind kind_of(Stage stage);

/// One entry of a recipe.
struct StageRule {
  Stage stage = Stage::modules;
  TaskKind kind = TaskKind::acquire;
  bool (*needed)(const UnitInfo& unit) = nullptr;
  Work (*work)(const UnitInfo& unit, const std::string& commit) = nullptr;
};

/// In order of execution; never empty; the last stage's result decides.
[[nodiscard]] std::span<const StageRule> validate_recipe();

/// The answer for a unit.
struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  Reason reason = Reason::none;
  Fault fault = Fault::none;
  std::string message;
  TaskId decider = {};  ///< Whose result shows it; 0 = the task that has just ended.
};
struct NextTask {
  Step step;
  TaskKind kind = TaskKind::acquire;
  Work work;
};
using UnitPlan = std::variant<NextTask, Judgement>;

/// The first task of a fresh unit, or its verdict when it can be judged without a run.
[[nodiscard]] UnitPlan plan_unit(const UnitInfo& unit, const std::string& commit);
/// After the accepted result (Ending::completed) of a stage.
[[nodiscard]] UnitPlan plan_after(Stage done, const UnitInfo& unit, const std::string& commit,
                                  const TaskResult& result);

struct PlannedUnit {
  UnitInfo info;
  UnitPlan plan;
};
/// What an accepted AcquireSource result means. `pinned` false: the repository can't be had, and
/// its one unit carries the verdict.
struct SourcePlan {
  bool pinned = false;
  std::string commit;
  std::string tree;
  WallTime committed = {};
  std::vector<PlannedUnit> units;
};
[[nodiscard]] SourcePlan plan_source(const TaskResult& result);
/// The unit that stands for a repository without units of its own.
[[nodiscard]] PlannedUnit whole_repository(Judgement judgement);

[[nodiscard]] Judgement judge(const TaskResult& result);
[[nodiscard]] Judgement judge_refused(const campaign::RefusedSource& source);
/// A folder that the client could not pack: its unit, with the finding that says why.
[[nodiscard]] PlannedUnit refused_repository(const campaign::RefusedSource& source);
[[nodiscard]] Judgement judge_dead(Reason last_reason, std::string message);
[[nodiscard]] Judgement judge_cancelled(std::string message);

/// Budgets of a campaign and what a task has used of them.
struct Budgets {
  std::uint16_t interruptions = 3;
  std::uint16_t charged = 1;
};
struct Spent {
  std::uint16_t interruptions = 0;
  std::uint16_t charged = 0;
};
/// What becomes of a task whose attempt ended.
enum class Fate : std::uint8_t {
  accept,       ///< The result is the answer.
  accept_dead,  ///< The result is the answer because its budget is used up.
  retry,        ///< Back to the queue; `spent` says what it costs.
  dead,         ///< The interruption budget is used up.
};
struct Decision {
  Fate fate = Fate::accept;
  Spent spent;  ///< After this attempt.
};
/// A timeout is charged; an upstream that failed counts as an interruption. No other answer is
/// asked for twice.
[[nodiscard]] Decision decide(const TaskResult& result, Spent spent, Budgets budgets);
/// An attempt without a result: its worker was lost, drained or restarted.
[[nodiscard]] Decision decide_interrupted(Spent spent, Budgets budgets);

/// False for an answer that lacks what its task had to find out: counted as an interruption.
[[nodiscard]] bool is_complete(const Work& work, const TaskResult& result);

}  // namespace cupel::coordinator::planner
