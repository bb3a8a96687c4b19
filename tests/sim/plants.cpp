// Bugs of the simulation's own adapters, planted to show that the invariants see them.
#include "tests/sim/simulation.hpp"

#include <algorithm>

namespace cupel::sim {

// The bug that fencing is there for, planted: whoever answers late, answers for the live attempt.
ToCoordinator Simulation::as_it_arrives(const ToCoordinator& message) const {
  const auto* result = std::get_if<ResultMessage>(&message);
  if (options_.plant != Plant::old_token || result == nullptr) return message;
  const auto task = store_.tasks().find(result->result.task);
  if (task == store_.tasks().end()) return message;
  ResultMessage forged = *result;
  forged.result.token = task->second.row.token;
  return forged;
}

bool Simulation::is_unheard(const ToCoordinator& message) const {
  const auto* result = std::get_if<ResultMessage>(&message);
  return options_.plant == Plant::unheard && result != nullptr &&
         result->result.task.value % 5 == 0;
}

bool Simulation::is_endless(Token token) const {
  return options_.plant == Plant::endless && token.value % 5 == 0;
}

bool Simulation::is_deaf(Token token) const {
  return options_.plant == Plant::no_kill || is_endless(token);
}

void Simulation::spoil(coordinator::Recovered& recovered) const {
  if (options_.plant != Plant::token_again) return;
  recovered.sequences.tokens -= std::min<std::uint64_t>(recovered.sequences.tokens, 16);
}

void Simulation::spoil(std::vector<coordinator::Transition>& batch) const {
  for (coordinator::Transition& transition : batch) {
    auto* returned = std::get_if<coordinator::TaskReturned>(&transition);
    auto* created = std::get_if<coordinator::CampaignCreated>(&transition);
    if (options_.plant == Plant::charged && returned != nullptr) {
      const auto& before = store_.tasks().at(returned->id).row;
      returned->charged += returned->interruptions - before.interruptions;
      returned->interruptions = before.interruptions;
    } else if (options_.plant == Plant::one_owner && created != nullptr) {
      for (const auto& submission : submissions_) {
        if (submission.document == created->campaign.document)
          created->campaign.owner = submission.owner;
      }
    }
  }
}

coordinator::SubmitCampaign Simulation::as_it_is_asked(std::size_t which) const {
  coordinator::SubmitCampaign asked = submissions_[which];
  if (options_.plant == Plant::one_owner) asked.owner = "everybody";
  return asked;
}

}  // namespace cupel::sim
