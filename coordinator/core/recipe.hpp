/// The recipes of campaigns that compare two sides: a pure function from (what is asked, the unit,
/// the results so far) to the next task or the verdict.
///
///   upgrade, replace, patch: modules, execute before, mutate, modules after, execute after
///   go:                      modules, execute before, [mutate, modules after], execute after
///   a patch that is ready:   readiness, before the verdict
///
/// A difference is repeated on both sides before it is believed (compare/conclude.hpp). What a task
/// needs on its worker is needs(); the machine makes it again where it was lost.
///
/// Seam for work that a unit waits for but that isn't the unit's (a scanner that is built once): a
/// task stays blocked while it is missing (Machine::State::must_wait), and is placed again when it
/// is there.
#pragma once

#include "common/campaign/campaign.hpp"
#include "coordinator/core/compare/conclude.hpp"
#include "coordinator/core/compare/culprit.hpp"
#include "coordinator/core/planner.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator::planner {

/// What a campaign asks of each of its units.
struct Question {
  Change change;
  campaign::Confirm confirm;
  campaign::Baseline baseline = campaign::Baseline::automatic;

  /// Two sides: results are kept until they can be compared.
  [[nodiscard]] bool compares() const { return !std::holds_alternative<NoChange>(change); }
  /// The after side is another tree than the before side.
  [[nodiscard]] bool mutates() const;
  /// The image setting of the after side where it is not the campaign's own; else empty.
  [[nodiscard]] std::string image_after() const;
};

/// A part of the change, run to find which of its modules did it.
struct ProbeRun {
  bool unresolved = false;          ///< It could not be applied.
  bool unchanged = false;           ///< It left the tree as it is.
  std::optional<compare::Run> run;  ///< Otherwise.
};

/// Where the repeats of a difference are made.
enum class Confirmation : std::uint8_t {
  undecided,
  here,       ///< Where its first runs were: there is no other worker for them.
  elsewhere,  ///< On another worker.
};

/// Whose before side a unit has taken over.
struct Reused {
  CampaignId campaign;
  UnitId unit;
  WallTime at;  ///< When that unit was judged.
};

/// What is known of an open unit of a campaign that compares.
struct Progress {
  compare::Book book;
  std::string before_tree;    ///< Of the snapshot that execute sees; empty = not known.
  bool modules_done = false;  ///< At least once: a loss is the machine's to repair.
  bool modules_after_done = false;
  bool asked_baseline = false;   ///< The store was asked for a before side.
  std::optional<Reused> reused;  ///< Its answer, which stands for the first run.
  Confirmation confirmation = Confirmation::undecided;
  bool sample = false;               ///< Its unchanged side is run once more (A/A).
  std::optional<Judgement> stopped;  ///< A stage ended the unit.
  std::vector<ProbeRun> probes;      ///< Those that are over; the next one is variant size() + 1.
  bool probe_changed = false;        ///< Of the probe under way.
  bool probe_modules = false;
};

/// Probes for one unit at most.
inline constexpr std::size_t kProbesMax = 16;

/// The smallest part of a regressed upgrade of several modules that shows the regression.
struct Culprit {
  std::vector<ModuleTarget> modules;
  std::size_t of = 0;      ///< Modules of the change.
  std::size_t probes = 0;  ///< That it took.
  bool minimal = false;
};
/// Nothing while a search is not called for, or not over.
[[nodiscard]] std::optional<Culprit> culprit_of(const Question& question, const UnitInfo& unit,
                                                const Progress& progress);

/// Text for the store, and back. Text that can't be read is a fresh progress: the unit starts over.
[[nodiscard]] std::string progress_text(const Progress& progress);
[[nodiscard]] Progress progress_from_text(const std::string& text);

/// Folds an accepted result (Ending::completed), which `worker` gave, into what is known.
void record(Progress& progress, const Question& question, Step step, const TaskResult& result,
            WorkerId worker = {});

/// The next task or the verdict. For a plain validation too, where its unit is in the A/A sample.
[[nodiscard]] UnitPlan plan_next(const Question& question, const UnitInfo& unit,
                                 const std::string& commit, const Progress& progress);

/// The work of a step, for the first time or again after a loss.
[[nodiscard]] Work work_of(Step step, const Question& question, const UnitInfo& unit,
                           const std::string& commit, const Progress* progress);

/// The image setting under which a task that names no image itself works on the after side, where
/// that is not the campaign's: its modules, and the last look at its manifests. Else empty.
[[nodiscard]] std::string image_for(const Question& question, const Work& work);

/// What must have been done on the worker that a step runs on, in order.
struct Needs {
  std::array<Step, 3> steps;
  std::size_t count = 0;

  void add(Step step) { steps.at(count++) = step; }
  [[nodiscard]] const Step* begin() const { return steps.data(); }
  [[nodiscard]] const Step* end() const { return steps.data() + count; }
};
[[nodiscard]] Needs needs(Step step, const Question& question, bool vendored);

/// The conclusion behind a verdict; nothing while a side is missing.
[[nodiscard]] std::optional<compare::Conclusion> conclusion_of(const Question& question,
                                                               const UnitInfo& unit,
                                                               const Progress& progress);

}  // namespace cupel::coordinator::planner
