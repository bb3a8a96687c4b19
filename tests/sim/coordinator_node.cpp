// The coordinator's process in the simulation: machine, store writer, campaigns.
#include "tests/sim/simulation.hpp"

namespace cupel::sim {

using namespace std::chrono_literals;
using coordinator::Commit;
using coordinator::Reply;
using coordinator::Send;

void Simulation::start_coordinator() {
  ++life_;
  machine_stopped_until_ = {};
  machine_waiting_.clear();
  trace("coordinator starts, life " + std::to_string(life_));
  coordinator::Recovered recovered = store_.recover();
  spoil(recovered);
  std::map<CampaignId, campaign::Campaign> parsed;
  for (const auto& row : recovered.campaigns) {
    for (const auto& submission : submissions_) {
      if (submission.document == row.document) parsed[row.id] = submission.campaign;
    }
  }
  coordinator::MachineSettings settings;
  settings.repositories_per_batch = 3;
  settings.ids_per_reservation = 16;
  settings.tokens_per_reservation = 16;
  settings.quarantine_failures = 3;
  settings.probe_limit = 40s;
  // The machine was switched off and on: its monotonic clock begins anew.
  machine_epoch_ = std::chrono::seconds(rng_.between(0, 1'000'000));
  machine_ =
      std::make_unique<coordinator::Machine>(settings, recovered, std::move(parsed), moment());
  coordinator::TrustChanged trust;
  for (const WorkerNode& node : workers_) {
    if (!node.twin) trust.keys.push_back({node.key, "name-" + node.key, labels_of(node)});
  }
  tell_machine(std::move(trust));
  tick_coordinator(life_);
  if (now_ >= faults_end_) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      lift_orders(workers_[i].id);
    }
    for (const auto& [id, row] : store_.campaigns()) {
      tell_machine(coordinator::ResumeCampaign{0, id});
    }
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    WorkerNode& node = workers_[i];
    if (node.agent != nullptr && !node.linked && !node.cut_up && !node.cut_down && rng_.chance(500))
      link(i, true);
  }
}

void Simulation::crash_coordinator(Duration down) {
  if (machine_ == nullptr) return;
  trace("coordinator crashes");
  ++outcome_.coordinator_crashes;
  outcome_.fenced += machine_->counters().fenced_results;
  outcome_.replaced += machine_->counters().holders_replaced;
  outcome_.moved += machine_->counters().repositories_moved;
  outcome_.reused += machine_->counters().baselines_reused;
  machine_.reset();
  machine_waiting_.clear();
  ++life_;
  // What was handed to the writer may still have reached the disk, up to some batch.
  const auto survive =
      now_ < disk_full_until_ ? 0 : rng_.between(0, static_cast<std::int64_t>(to_commit_.size()));
  for (std::int64_t i = 0; i < survive; ++i) {
    store_.apply(to_commit_[static_cast<std::size_t>(i)].commit.transitions);
  }
  to_commit_.clear();
  committing_ = writer_broken_ = false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (rng_.chance(500)) link(i, false);
  }
  after(down, 34, [this] { start_coordinator(); });
}

void Simulation::tick_coordinator(std::uint64_t life) {
  if (machine_ == nullptr || life != life_) return;
  tell_machine(coordinator::Tick{});
  after(1s, 35, [this, life] { tick_coordinator(life); });
}

void Simulation::tell_machine(coordinator::Event event) {
  if (machine_ == nullptr) return;
  if (now_ < machine_stopped_until_ || !machine_waiting_.empty()) {
    machine_waiting_.push_back(std::move(event));
    if (machine_waiting_.size() == 1) wake_coordinator(life_);
    return;
  }
  machine_->on(std::move(event), moment());
  take_actions();
}

void Simulation::wake_coordinator(std::uint64_t life) {
  if (life != life_ || machine_ == nullptr) return;
  if (now_ < machine_stopped_until_) {
    at(machine_stopped_until_, 39, [this, life] { wake_coordinator(life); });
    return;
  }
  while (!machine_waiting_.empty() && machine_ != nullptr) {
    coordinator::Event event = std::move(machine_waiting_.front());
    machine_->on(std::move(event), moment());
    take_actions();
    if (!machine_waiting_.empty()) machine_waiting_.pop_front();
  }
}

void Simulation::take_actions() {
  if (machine_ == nullptr) return;
  for (coordinator::Action& action : machine_->take()) {
    if (dies_here()) {
      crash_coordinator(std::chrono::milliseconds(rng_.between(100, 20'000)));
      return;
    }
    if (auto* commit = std::get_if<Commit>(&action)) {
      act(*commit);
    } else if (auto* send = std::get_if<Send>(&action)) {
      act(*send);
    } else if (auto* reply = std::get_if<Reply>(&action)) {
      act(*reply);
    } else if (std::holds_alternative<coordinator::StoreLost>(action)) {
      crash_coordinator(std::chrono::milliseconds(rng_.between(100, 3000)));
      return;
    }
  }
}

void Simulation::act(Commit& commit) {
  if (writer_broken_) return;  // after a failure nothing is written until the store is opened again
  to_commit_.push_back({life_, std::move(commit)});
  if (!committing_) commit_next();
}

void Simulation::commit_next() {
  if (to_commit_.empty()) return;
  committing_ = true;
  Duration takes = std::chrono::microseconds(rng_.between(300, 8000));
  if (noise(kNoiseStore, 10)) takes = std::chrono::milliseconds(rng_.between(100, 4000));
  after(takes, 36, [this, life = life_] {
    if (life != life_ || machine_ == nullptr || to_commit_.empty()) return;
    Commit commit = std::move(to_commit_.front().commit);
    to_commit_.pop_front();
    committing_ = false;
    spoil(commit.transitions);
    const bool full = now_ < disk_full_until_;
    const bool fails = full || noise(kNoiseStore, 3);
    const bool answer_lost = fails && !full && rng_.chance(500);
    if (options_.plant == Plant::early_promise && !fails) {
      auto answer = store_.answer_of(commit.transitions);
      tell_machine(coordinator::StoreCommitted{commit.batch, std::move(answer.specs),
                                               std::move(answer.baselines)});
      if (machine_ == nullptr) return;
    }
    FakeStore::Answer answer;
    if (!fails || answer_lost) answer = store_.apply(commit.transitions);
    for (const coordinator::Transition& transition : commit.transitions) {
      trace_transition(transition);
      const bool result = std::holds_alternative<coordinator::TaskFinished>(transition);
      if (options_.plant == Plant::double_accept && result && !fails) store_.apply({transition});
    }
    check_leases_of_store();
    if (fails) {
      ++outcome_.store_failures;
      trace(full ? "the disk is full" : answer_lost ? "store answers no more" : "store fails");
      to_commit_.clear();
      writer_broken_ = true;
      tell_machine(
          coordinator::StoreFailed{commit.batch, Error{Errc::store_failed, "disk", "", ""}});
      return;
    }
    // The next one begins before the machine hears of this one.
    if (!to_commit_.empty()) commit_next();
    tell_machine(coordinator::StoreCommitted{commit.batch, std::move(answer.specs),
                                             std::move(answer.baselines)});
    if (!committing_) commit_next();
  });
}

void Simulation::trace_transition(const coordinator::Transition& transition) {
  if (!options_.trace) return;
  if (const auto* made = std::get_if<coordinator::TaskCreated>(&transition)) {
    trace("  created " + made->task.id.text() + " of " + made->task.unit.text() + " in " +
          made->task.repository.text() + " " + std::string(name(made->task.kind)) + " " +
          std::string(name(made->task.state)));
  } else if (const auto* back = std::get_if<coordinator::TaskReturned>(&transition)) {
    trace("  returned " + back->id.text() + " " + std::string(name(back->state)) + ": " +
          back->why);
  } else if (const auto* done = std::get_if<coordinator::TaskFinished>(&transition)) {
    trace("  finished " + done->id.text() + " " + std::string(name(done->result->outcome)));
  } else if (const auto* changed = std::get_if<coordinator::TaskStateChanged>(&transition)) {
    trace("  changed " + changed->id.text() + " " + std::string(name(changed->state)));
  } else if (const auto* holder = std::get_if<coordinator::RepositoryHolder>(&transition)) {
    trace("  holder of " + holder->id.text() + " " + holder->holder.text());
  } else if (const auto* letter = std::get_if<coordinator::DeadLetterHandled>(&transition)) {
    trace("  " + std::string(name(letter->state)) + " dead letter " + letter->task.text());
  } else if (const auto* controls = std::get_if<coordinator::WorkerControls>(&transition)) {
    trace("  controls of " + controls->id.text() + (controls->draining ? " drain" : "") +
          " quarantine '" + std::string(name(controls->quarantine)) + "' " + controls->why);
  } else if (const auto* judged = std::get_if<coordinator::UnitFinished>(&transition)) {
    trace("  judged " + judged->id.text() + " " + std::string(name(judged->verdict)));
  }
}

void Simulation::check_promise(const Send& send) {
  if (const auto* lease = std::get_if<Lease>(&send.message)) {
    if (std::holds_alternative<NoOp>(lease->spec.work)) {
      // A probe is in no record; its numbers must never be given out again.
      if (!store_.reserved(lease->spec.id, lease->token)) breaks("a probe has unreserved numbers");
      probes_.insert(lease->token.value);
      ++outcome_.probes;
      return;
    }
    const auto task = store_.tasks().find(lease->spec.id);
    if (task == store_.tasks().end() || task->second.row.token != lease->token) {
      breaks("a lease was sent before its commit");
    }
  } else if (const auto* ack = std::get_if<ResultAck>(&send.message)) {
    if (!ack->accepted || probes_.contains(ack->lease.token.value)) return;
    const auto task = store_.tasks().find(ack->lease.task);
    if (task == store_.tasks().end() || !task->second.ended.contains(ack->lease.token.value)) {
      breaks("a result was acknowledged before its commit");
    }
  }
}

void Simulation::act(Send& send) {
  check_promise(send);
  for (const WorkerNode& node : workers_) {
    // A copy has the same key; the routing tells the two apart.
    if (!send.routing.starts_with(process_of(node))) continue;
    to_worker(node.index, send.routing, std::move(send.message));
    return;
  }
}

void Simulation::act(Reply& reply) {
  if (reply.request == 0 || !reply.answer) return;
  const std::size_t index = reply.request - 1;
  if (!store_.campaigns().contains(reply.answer->campaign)) {
    breaks("a submission was confirmed before its commit");
    return;
  }
  std::size_t repositories = 0;
  for (const auto& [id, row] : store_.repositories()) {
    if (row.campaign == reply.answer->campaign) ++repositories;
  }
  if (repositories != submissions_[index].campaign.repositories.size()) {
    breaks("a submission was confirmed before all of it was written");
  }
  submitted_[index] = true;
}

void Simulation::submit_campaigns() {
  const auto count = rng_.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    coordinator::SubmitCampaign submit;
    submit.request = static_cast<std::uint64_t>(i) + 1;
    submit.owner = rng_.chance(500) ? "ann" : "bob";
    submit.document = "{\"n\":" + std::to_string(i) + "}";
    submit.idempotency_key = "key-" + std::to_string(i);
    campaign::Campaign& campaign = submit.campaign;
    campaign.name = "campaign-" + std::to_string(i);
    campaign.priority = static_cast<std::int32_t>(rng_.between(-1, 1));
    campaign.max_parallel = static_cast<std::uint32_t>(rng_.between(0, 3));
    campaign.retries_infra = static_cast<std::uint16_t>(rng_.between(0, 6));
    campaign.retries_timeout = static_cast<std::uint16_t>(rng_.between(0, 2));
    if (!options_.calm && rng_.chance(100)) campaign.deadline_s = 60;
    campaign.confirm = {2, 2};
    if (rng_.chance(500)) {
      campaign.change = Upgrade{.modules = {{"example.com/lib", "latest"}}, .deny = {}, .pins = {}};
    }
    if (rng_.chance(200)) campaign.aa = 2;
    const auto repositories = std::min(options_.repositories_max, rng_.between(1, 7));
    for (std::int64_t r = 0; r < repositories; ++r) {
      campaign::RepositoryEntry entry;
      if (rng_.chance(100)) {
        entry.source = campaign::RefusedSource{"./bad", Reason::hostile_git_config, "no"};
      } else {
        entry.source =
            GitSource{"https://example.com/" + std::to_string(rng_.between(0, 400)), "main"};
      }
      campaign.repositories.push_back(std::move(entry));
    }
    store_.knows_parallel(submit.document, campaign.max_parallel);
    submissions_.push_back(submit);
    submitted_.push_back(false);
    // The client asks again until it has an answer, as it would by HTTP; the key makes that safe.
    const auto index = static_cast<std::size_t>(i);
    struct Ask {
      static void again(Simulation* self, std::size_t which) {
        if (self->submitted_[which]) return;
        for (const auto& [id, row] : self->store_.campaigns()) {
          const bool over = row.state == coordinator::CampaignState::finished ||
                            row.state == coordinator::CampaignState::cancelled;
          // The API finds the key of a campaign that is over in the store.
          if (row.idempotency_key == self->submissions_[which].idempotency_key && over) {
            self->submitted_[which] = true;
            return;
          }
        }
        self->tell_machine(self->as_it_is_asked(which));
        self->after(5s, 37, [self, which] { again(self, which); });
      }
    };
    after(std::chrono::milliseconds(rng_.between(0, 20'000)), 37,
          [this, index] { Ask::again(this, index); });
  }
}

}  // namespace cupel::sim
