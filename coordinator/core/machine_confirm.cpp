// Repeats of a difference on another worker than the one that saw it first.
#include "coordinator/core/state.hpp"

#include <algorithm>

namespace cupel::coordinator {
namespace {

using planner::Confirmation;

bool holds(const Worker& worker, const std::string& image) {
  return std::ranges::any_of(worker.capacity.toolchains,
                             [&](const Toolchain& one) { return one.identity == image; });
}

/// The newest repeat of a side that was made elsewhere, if its conditions are not those of the
/// first.
bool was_in_vain(const std::vector<compare::Run>& runs) {
  if (runs.size() < 2 || !compare::is_conclusive(runs.back())) return false;
  std::vector<std::string> explained;
  return !compare::why_incomparable(runs.front(), runs.back(), false, explained).empty();
}

}  // namespace

/// One that could repeat both sides as they were run: the same program, engine and images.
Handle Machine::State::other_worker(const CampaignEntry& campaign, const compare::Book& book,
                                    Handle first) const {
  Handle best = kNoHandle;
  for (Handle handle = 0; handle < fleet.end(); ++handle) {
    const Worker& worker = fleet[handle];
    if (handle == first || !fleet.may_get_work(worker, now.mono)) continue;
    if (worker.version != fleet[first].version || worker.engine != fleet[first].engine) continue;
    if (!holds(worker, book.before.front().conditions.image) ||
        !holds(worker, book.after.front().conditions.image) || !can_run(campaign, worker)) {
      continue;
    }
    if (best == kNoHandle || fleet.free_slots(worker) > fleet.free_slots(fleet[best]))
      best = handle;
  }
  return best;
}

void Machine::State::confirm_elsewhere(Handle unit_handle, planner::Step step) {
  Unit& unit = units[unit_handle];
  if (!unit.progress || step.repeat == 0 || step.variant != 0) return;
  if (planner::kind_of(step.stage) != TaskKind::execute) return;
  planner::Progress& progress = *unit.progress;
  const compare::Book& book = progress.book;
  const Repository& repository = repositories[unit.repository];
  if (book.before.empty() || book.after.empty() || repository.source_task != kNoHandle ||
      repository.holder == kNoHandle) {
    return;
  }
  const Handle first = fleet.by_id(book.after.front().worker);
  if (first == kNoHandle) return;
  if (progress.confirmation == Confirmation::undecided) {
    // Another unit of the repository may have moved it already.
    const Handle other = repository.holder != first
                             ? repository.holder
                             : other_worker(campaigns.at(repository.campaign), book, first);
    progress.confirmation = other == kNoHandle ? Confirmation::here : Confirmation::elsewhere;
    if (other != kNoHandle && other != repository.holder) move_repository(unit.repository, other);
  } else if (progress.confirmation == Confirmation::elsewhere && repository.holder != first &&
             (was_in_vain(book.before) || was_in_vain(book.after))) {
    progress.confirmation = Confirmation::here;
    if (fleet.may_get_work(fleet[first], now.mono)) move_repository(unit.repository, first);
  }
}

void Machine::State::move_repository(Handle handle, Handle to) {
  const Handle from = repositories[handle].holder;
  acquire_again(handle, "its repeats are for another worker", to);
  if (repositories[handle].source_task == kNoHandle) return;
  moves[handle] = {from, to};
  ++counters.repositories_moved;
}

/// What can't be had there may still be had where it was, and then anywhere. False: there was no
/// move.
bool Machine::State::move_back(Handle handle) {
  const auto found = moves.find(handle);
  if (found == moves.end()) return false;
  const Handle from = found->second.from;
  moves.erase(found);
  const bool gone = from == kNoHandle || fleet.holder_gone(fleet[from], now.mono);
  // So that it doesn't wait for a worker that goes meanwhile.
  if (!gone) moves[handle] = {kNoHandle, from};
  create_task(handle, kNoHandle, {}, acquisition_of(repositories[handle]), gone ? kNoHandle : from);
  return true;
}

/// An acquisition that waits for a worker which is gone goes to any.
void Machine::State::check_moves() {
  std::vector<Handle> over;
  for (const auto& [handle, move] : moves) {
    const Handle task = repositories[handle].source_task;
    if (task == kNoHandle) {
      over.push_back(handle);
      continue;
    }
    if (tasks[task].preferred == kNoHandle || tasks[task].state != TaskState::queued) continue;
    if (!fleet.holder_gone(fleet[move.to], now.mono)) continue;
    scheduler.remove(task);
    tasks[task].preferred = kNoHandle;
    write(TaskStateChanged{tasks[task].id, TaskState::queued, {}, now.wall});
    start_waiting(task);
  }
  for (const Handle handle : over) moves.erase(handle);
}

}  // namespace cupel::coordinator
