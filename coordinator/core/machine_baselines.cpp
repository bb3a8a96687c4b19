// Before sides of earlier campaigns in place of runs of one's own.
#include "coordinator/core/compare/baseline.hpp"
#include "coordinator/core/state.hpp"

namespace cupel::coordinator {
namespace {

/// A database of vulnerabilities and the scanner are conditions of their own that age.
bool may_reuse(const planner::Question& question, const campaign::ScanPlan& scan) {
  return question.compares() && question.baseline != campaign::Baseline::off && !scan.enabled;
}

}  // namespace

std::string Machine::State::image_on(Handle worker, const CampaignEntry& campaign,
                                     const UnitInfo& info) const {
  if (worker == kNoHandle || fleet[worker].session == 0) return {};
  const auto selected =
      images::select(images::builtin_table(), available_on(fleet[worker]), info.go_version,
                     campaign.settings.image, campaign.settings.image_without_c_compiler);
  return selected && selected->found() ? selected->image.identity : std::string();
}

bool Machine::State::ask_baseline(Handle handle, planner::Step step, const UnitInfo& info) {
  Unit& unit = units[handle];
  if (!unit.progress || step != planner::Step{planner::Stage::execute_before}) return false;
  planner::Progress& progress = *unit.progress;
  const Repository& repository = repositories[unit.repository];
  const CampaignEntry& campaign = campaigns.at(repository.campaign);
  const planner::Question& question = question_of(repository);
  if (progress.asked_baseline || progress.sample || !may_reuse(question, campaign.scan) ||
      question.baseline != campaign::Baseline::automatic) {
    return false;
  }
  std::string name =
      compare::baseline_name({progress.before_tree, info.dir,
                              image_on(repository.holder, campaign, info), &campaign.settings});
  if (name.empty()) return false;
  progress.asked_baseline = true;
  write(BaselineWanted{unit.id, std::move(name), now.wall});
  after_commit(BaselineReady{handle, unit.id, info});
  return true;
}

void Machine::State::baseline_ready(const BaselineReady& ready, const BaselineRow* known) {
  Unit& unit = units[ready.unit];
  // It was judged meanwhile (cancelled), or is under way again.
  if (unit.id != ready.id || unit.task != kNoHandle) return;
  const Repository& repository = repositories[unit.repository];
  if (known != nullptr && compare::take_baseline(unit.progress->book, known->body)) {
    unit.progress->reused = planner::Reused{known->campaign, known->unit, known->at};
    ++counters.baselines_reused;
    write(UnitProgressed{unit.id, campaigns.at(repository.campaign).id,
                         planner::progress_text(*unit.progress)});
  }
  planner::UnitPlan plan = plan_from_start(ready.unit, ready.info);
  if (auto* next = std::get_if<planner::NextTask>(&plan)) {
    go_on(ready.unit, std::move(*next), ready.info);
  } else {
    finish_unit(ready.unit, std::get<planner::Judgement>(plan), &ready.info, {}, 0);
  }
}

void Machine::State::settle_baseline(const Unit& unit, const UnitInfo& info,
                                     const compare::Conclusion* found) {
  const planner::Progress& progress = *unit.progress;
  const Repository& repository = repositories[unit.repository];
  const CampaignEntry& campaign = campaigns.at(repository.campaign);
  if (progress.book.before.empty() || !may_reuse(question_of(repository), campaign.scan)) return;
  // By the image that it ran in.
  std::string name =
      compare::baseline_name({progress.before_tree, info.dir,
                              progress.book.before.front().conditions.image, &campaign.settings});
  if (name.empty() || info.module_path.empty()) return;
  std::string body = compare::baseline_text(progress.book, found);
  if (body.empty()) {
    write(BaselineDropped{std::move(name)});
    return;
  }
  if (progress.reused) return;  // It ages from when it was run.
  const auto lifetime = std::chrono::duration_cast<std::chrono::microseconds>(
      compare::baseline_lifetime(progress.book));
  write(BaselineKept{std::move(name),
                     campaign.id,
                     unit.id,
                     std::move(body),
                     now.wall,
                     {now.wall.us + lifetime.count()}});
}

}  // namespace cupel::coordinator
