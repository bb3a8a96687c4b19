/// A machine with its store played by hand.
#pragma once

#include "common/core/limits.hpp"
#include "coordinator/core/machine.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace cupel::coordinator {

using namespace std::chrono_literals;

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() : machine_(settings(), empty_store(), {}, now_) {
    step(TrustChanged{{{"k1", "one", {}}, {"k2", "two", {}}}});
  }

  static Recovered empty_store() {
    Recovered recovered;
    recovered.fleet = FleetId{3};
    return recovered;
  }
  static MachineSettings settings() {
    MachineSettings values;
    values.peer_messages_per_s = 1000;
    return values;
  }

  /// One event, and the commit of whatever it wrote; what came out is in `sent_` and `replies_`.
  void step(Event event) {
    machine_.on(std::move(event), now_);
    carry_out();
  }
  /// One event whose commit stays open: commit() closes it.
  void step_uncommitted(Event event) {
    machine_.on(std::move(event), now_);
    collect(machine_.take());
  }
  void commit() {
    while (!open_.empty()) {
      Commit batch = std::move(open_.front());
      open_.erase(open_.begin());
      std::map<TaskId, std::string> specs;
      std::map<UnitId, BaselineRow> baselines;
      for (const Transition& transition : batch.transitions) {
        if (const auto* kept = std::get_if<BaselineKept>(&transition)) {
          baselines_[kept->name] = {kept->campaign, kept->unit, kept->body, kept->at};
        }
        if (const auto* dropped = std::get_if<BaselineDropped>(&transition)) {
          baselines_.erase(dropped->name);
        }
        if (const auto* wanted = std::get_if<BaselineWanted>(&transition)) {
          const auto known = baselines_.find(wanted->name);
          if (known != baselines_.end()) baselines[wanted->unit] = known->second;
        }
        if (const auto* made = std::get_if<TaskCreated>(&transition)) {
          specs_[made->task.id] = made->spec;
          created_.push_back(made->task);
        }
        if (const auto* leased = std::get_if<TaskLeased>(&transition)) {
          specs[leased->id] = specs_.at(leased->id);
        }
        written_.push_back(transition);
      }
      machine_.on(StoreCommitted{batch.batch, std::move(specs), std::move(baselines)}, now_);
      collect(machine_.take());
    }
  }
  void carry_out() {
    collect(machine_.take());
    commit();
  }
  void collect(Actions actions) {
    for (Action& action : actions) {
      if (auto* commit = std::get_if<Commit>(&action)) open_.push_back(std::move(*commit));
      if (auto* send = std::get_if<Send>(&action)) sent_.push_back(std::move(*send));
      if (auto* reply = std::get_if<Reply>(&action)) replies_.push_back(std::move(*reply));
      if (std::holds_alternative<StoreLost>(action)) store_lost_ = true;
      if (std::holds_alternative<PassLogTail>(action)) ++tails_;
    }
  }
  void pass(Duration time) {
    now_.mono += time;
    now_.wall.us += std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  }

  void from(const std::string& key, ToCoordinator message) {
    step(MessageReceived{key, key + "-route", std::move(message)});
  }
  void join(const std::string& key, std::uint64_t id, std::uint32_t slots = 1,
            std::vector<LiveLease> running = {}) {
    Hello hello;
    hello.protocol_min = kProtocolVersionMin;
    hello.protocol_max = kProtocolVersionMax;
    hello.worker = WorkerId{id};
    hello.incarnation = Incarnation{id};
    hello.capacity.slots = slots;
    hello.running = std::move(running);
    hello.beat = ++beats_[key];
    from(key, hello);
  }
  void heartbeat(const std::string& key, std::vector<LiveLease> renew = {},
                 std::uint32_t slots = 1) {
    Heartbeat message;
    message.capacity.slots = slots;
    message.renew = std::move(renew);
    message.beat = ++beats_[key];
    from(key, message);
  }
  CampaignId submit(std::vector<campaign::RepositoryEntry> repositories = {git("a")},
                    std::uint16_t retries_infra = 3) {
    SubmitCampaign event;
    event.request = ++requests_;
    event.campaign.name = "c";
    event.campaign.repositories = std::move(repositories);
    event.campaign.retries_infra = retries_infra;
    event.document = "{}";
    event.owner = "ann";
    step(std::move(event));
    return replies_.back().answer ? replies_.back().answer->campaign : CampaignId{};
  }
  void order(WorkerOrder what, std::uint64_t worker, std::uint32_t deadline_ms = 0) {
    OrderWorkers event;
    event.request = ++requests_;
    event.order = what;
    event.worker = WorkerId{worker};
    event.deadline_ms = deadline_ms;
    step(std::move(event));
  }
  static campaign::RepositoryEntry git(const std::string& name) {
    campaign::RepositoryEntry entry;
    entry.source = GitSource{"https://example.com/" + name, "main"};
    return entry;
  }

  /// The newest message of a kind that was sent to a key; a failure when there is none.
  template <typename Message>
  Message last(const std::string& key) const {
    for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) {
      if (it->key != key) continue;
      if (const auto* message = std::get_if<Message>(&it->message)) return *message;
    }
    ADD_FAILURE() << "nothing of this kind was sent to " << key;
    return Message{};
  }
  template <typename Message>
  std::size_t count(const std::string& key) const {
    std::size_t found = 0;
    for (const Send& send : sent_) {
      if (send.key == key && std::holds_alternative<Message>(send.message)) ++found;
    }
    return found;
  }
  template <typename Kind>
  std::vector<Kind> written() const {
    std::vector<Kind> found;
    for (const Transition& transition : written_) {
      if (const auto* known = std::get_if<Kind>(&transition)) found.push_back(*known);
    }
    return found;
  }
  static LiveLease live(const Lease& lease) { return {lease.spec.id, lease.token}; }
  static TaskResult passing(const Lease& lease) {
    TaskResult result;
    result.task = lease.spec.id;
    result.token = lease.token;
    result.outcome = Outcome::passing;
    return result;
  }
  static TaskResult acquired(const Lease& lease, std::vector<std::string> dirs = {"."}) {
    TaskResult result = passing(lease);
    result.source = SourceFacts{.commit = "abc", .tree = "t", .files = 1, .bytes = 1, .units = {}};
    for (const std::string& dir : dirs) {
      UnitInfo unit;
      unit.dir = dir;
      unit.module_path = "m/" + dir;
      result.source->units.push_back(unit);
    }
    return result;
  }

  Now now_{TimePoint{std::chrono::hours(100)}, WallTime{1'800'000'000'000'000}};
  Machine machine_;
  std::vector<Commit> open_;
  std::vector<Transition> written_;
  std::map<TaskId, std::string> specs_;
  std::map<std::string, BaselineRow> baselines_;
  std::vector<TaskRow> created_;
  std::vector<Send> sent_;
  std::vector<Reply> replies_;
  std::map<std::string, std::uint64_t> beats_;
  RequestId requests_ = 0;
  bool store_lost_ = false;
  int tails_ = 0;
};

}  // namespace cupel::coordinator
