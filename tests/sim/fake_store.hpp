/// The store's records in memory, strict: a transition that contradicts them breaks an invariant.
#pragma once

#include "coordinator/core/actions.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cupel::sim {

/// What a simulated attempt writes into its result, so that the store can tell whose it is.
[[nodiscard]] std::string made_under(Token token);

class FakeStore {
 public:
  explicit FakeStore(FleetId fleet) { fleet_ = fleet; }

  /// What a commit gives back, as coordinator::Applied: specs of the tasks that the batch leased,
  /// and the before sides that it asked for.
  struct Answer {
    std::map<TaskId, std::string> specs;
    std::map<UnitId, coordinator::BaselineRow> baselines;
  };
  /// All or nothing.
  Answer apply(const std::vector<coordinator::Transition>& batch);
  [[nodiscard]] coordinator::Recovered recover() const;
  /// What apply() would answer.
  [[nodiscard]] Answer answer_of(const std::vector<coordinator::Transition>& batch) const;
  /// The one reason to spend the charged budget: a result that the attempt itself gave.
  void may_charge(Token token) { may_charge_.insert(token.value); }

  /// What a campaign's document says of the tasks that may run at once; 0: nothing.
  void knows_parallel(const std::string& document, std::uint32_t max) { parallel_[document] = max; }

  /// The first contradiction; empty while there is none.
  [[nodiscard]] const std::string& broken() const { return broken_; }

  struct TaskRecord {
    coordinator::TaskRow row;
    std::string spec;
    int results = 0;  ///< Accepted answers (Ending::completed, not taken back).
    std::optional<TaskResult> last;
    std::set<std::uint64_t> ended;  ///< Tokens of attempts that are over.
  };
  [[nodiscard]] const std::map<TaskId, TaskRecord>& tasks() const { return tasks_; }
  [[nodiscard]] const std::map<UnitId, coordinator::UnitRow>& units() const { return units_; }
  [[nodiscard]] const std::map<CampaignId, coordinator::CampaignRow>& campaigns() const {
    return campaigns_;
  }
  [[nodiscard]] const std::map<RepositoryId, coordinator::RepositoryRow>& repositories() const {
    return repositories_;
  }
  [[nodiscard]] bool all_over() const;
  /// What a campaign's units say, in order: the same whatever happened on the way.
  [[nodiscard]] std::string verdicts(CampaignId campaign) const;
  [[nodiscard]] const std::map<TaskId, coordinator::DeadLetterRow>& letters() const {
    return letters_;
  }
  /// What the API would read for it; without the campaign's text.
  [[nodiscard]] coordinator::ReplayDeadLetter replay_of(TaskId task) const;
  /// Numbers that the coordinator may use without a record of them.
  [[nodiscard]] bool reserved(TaskId id, Token token) const {
    return id.value <= sequences_.ids && !ids_.contains(id.value) &&
           token.value <= sequences_.tokens;
  }
  [[nodiscard]] bool draining(WorkerId worker) const {
    const auto found = controls_.find(worker);
    return found != controls_.end() && found->second.draining;
  }
  [[nodiscard]] std::size_t events() const { return events_; }

 private:
  void on(const coordinator::CampaignCreated& t);
  void on(const coordinator::CampaignChanged& t);
  void on(const coordinator::RepositoryCreated& t);
  void on(const coordinator::RepositoryPinned& t);
  void on(const coordinator::RepositoryHolder& t);
  void on(const coordinator::UnitCreated& t);
  void on(const coordinator::UnitFinished& t);
  void on(const coordinator::UnitProgressed& t);
  void on(const coordinator::UnitCompared& t);
  void on(const coordinator::FlakeSeen& t);
  void on(const coordinator::BaselineKept& t);
  void on(const coordinator::BaselineDropped& t);
  void on(const coordinator::BaselineWanted& t);
  void on(const coordinator::TaskCreated& t);
  void on(const coordinator::TaskLeased& t);
  void on(const coordinator::TaskReturned& t);
  void on(const coordinator::TaskFinished& t);
  void on(const coordinator::TaskStateChanged& t);
  void on(const coordinator::DeadLetterAdded& t);
  void on(const coordinator::DeadLetterHandled& t);
  void on(const coordinator::CampaignReopened& t);
  void on(const coordinator::UnitReopened& t);
  void on(const coordinator::UnitRemoved& t);
  void on(const coordinator::WorkerSeen& t);
  void on(const coordinator::WorkerControls& t);
  void on(const coordinator::EventAppended& t);
  void on(const coordinator::SequencesReserved& t);
  void check(bool good, const std::string& what);
  void fresh_id(std::uint64_t id);
  void check_share(const coordinator::TaskRow& granted);  // fair_share.cpp

  FleetId fleet_;
  std::map<CampaignId, coordinator::CampaignRow> campaigns_;
  std::map<RepositoryId, coordinator::RepositoryRow> repositories_;
  std::map<UnitId, coordinator::UnitRow> units_;
  std::map<TaskId, TaskRecord> tasks_;
  std::map<UnitId, coordinator::UnitProgressed> progress_;
  std::set<UnitId> compared_;
  std::map<TaskId, coordinator::DeadLetterRow> letters_;
  std::map<WorkerId, coordinator::WorkerSeen> workers_;
  std::map<WorkerId, coordinator::WorkerControls> controls_;
  coordinator::SequencesReserved sequences_;
  std::set<std::uint64_t> ids_;
  std::set<std::pair<std::uint64_t, std::string>> unit_places_;
  std::uint64_t highest_token_ = 0;
  std::set<std::uint64_t> may_charge_;
  std::map<std::string, std::uint32_t> parallel_;
  std::set<CampaignId> ending_;  ///< Being cancelled, which may take more than one commit.
  std::size_t events_ = 0;
  Answer answer_;
  std::map<std::string, coordinator::BaselineKept> baselines_;
  std::string broken_;
};

}  // namespace cupel::sim
