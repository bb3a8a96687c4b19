/// The search for the modules of an upgrade that brought a regression, as part of a recipe: probes
/// are after sides of their own with a part of the change (compare/culprit.hpp chooses them).
#pragma once

#include "coordinator/core/recipe.hpp"

#include <optional>
#include <vector>

namespace cupel::coordinator::planner {

/// The state of the search; nothing where `found` calls for none.
[[nodiscard]] std::optional<compare::Search> search_of(const Question& question,
                                                       const Progress& progress,
                                                       const compare::Conclusion& found);

[[nodiscard]] std::vector<ModuleTarget> targets_of(const compare::ChangeNote& change,
                                                   const compare::Parts& parts);

/// The modules of the probe under way.
[[nodiscard]] std::vector<ModuleTarget> probe_targets(const Question& question,
                                                      const UnitInfo& unit,
                                                      const Progress& progress);

/// Folds the result of a step of the probe under way into what is known.
void record_probe(Progress& progress, Step step, const TaskResult& result);

}  // namespace cupel::coordinator::planner
