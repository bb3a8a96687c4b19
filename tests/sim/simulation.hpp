/// A whole fleet in one thread from one seed: the coordinator's machine, worker agents, a store, a
/// network, and faults in all of them. After every step the invariants of the lease protocol are
/// checked; a broken one ends the run with its name.
///
/// Invariants: one accepted result a task; tokens only grow; nothing is accepted with an old token;
/// promises (leases, acknowledgements, replies) only after their commit; no two attempts of one
/// task run at once, whatever is lost or delayed; no worker runs more attempts than it has slots;
/// interruptions never spend the charged budget; once faults stop, every campaign ends, every
/// outbox empties, every drain ends.
#pragma once

#include "coordinator/core/machine.hpp"
#include "tests/sim/fake_store.hpp"
#include "tests/sim/rng.hpp"
#include "worker/core/agent/agent.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace cupel::sim {

struct Options {
  std::uint64_t seed = 1;
  Duration faults = std::chrono::seconds(120);  ///< How long things go wrong.
  Duration limit = std::chrono::hours(4);       ///< After it an open campaign counts as stuck.
  bool trace = false;                           ///< Print every event to stderr.
  bool calm = false;                            ///< No faults at all.
};

struct Outcome {
  std::uint64_t hash = 0;
  std::string broken;  ///< Empty: every invariant held.
  std::uint64_t steps = 0;
  std::uint64_t results = 0;  ///< Accepted.
  std::uint64_t interruptions = 0;
  std::uint64_t dead = 0;
  std::uint64_t coordinator_crashes = 0;
  std::uint64_t worker_crashes = 0;
  std::uint64_t store_failures = 0;
  std::uint64_t fenced = 0;
  std::uint64_t replaced = 0;  ///< Workspaces acquired again elsewhere.
  std::string verdicts;        ///< Of every campaign that was not cancelled.
};

[[nodiscard]] Outcome simulate(const Options& options);

/// What the repository with this name holds and says; a function of the name and of nothing else.
struct Truth {
  enum class Source : std::uint8_t { good, refused, inconclusive } source = Source::good;
  std::vector<UnitInfo> units;
  [[nodiscard]] static Truth of(const std::string& name);
};
[[nodiscard]] cupel::Outcome truth_of_unit(const std::string& repository, const UnitInfo& unit);
/// What one run of a side says, in a campaign with a change; some units flicker from run to run.
[[nodiscard]] cupel::Outcome truth_of_run(const std::string& repository, const UnitInfo& unit,
                                          Side side, std::uint16_t repeat);
/// The verdict that a campaign with a change may give, whatever goes wrong (or inconclusive).
[[nodiscard]] Verdict truth_of_change(const std::string& repository, const UnitInfo& unit);

class Simulation {
 public:
  explicit Simulation(const Options& options);
  Outcome run();

 private:
  struct Running {
    Lease lease;
    TimePoint ends;                ///< As the agent was told at its start.
    std::uint64_t generation = 0;  ///< Of the process that runs it.
    bool cancelled = false;
  };
  struct WorkerNode {
    std::size_t index = 0;
    std::string key;
    std::unique_ptr<worker::Agent> agent;
    std::uint64_t generation = 0;  ///< Counts process starts.
    std::uint64_t timer = 0;       ///< Only the newest timer event counts.
    std::uint32_t slots = 1;
    bool linked = false;  ///< The transport says that it is up.
    bool cut = false;     ///< The network between it and the coordinator is gone.
    bool holds = false;   ///< While cut, messages wait as in a stalled connection.
    std::vector<std::function<void()>> held;
    bool gone = false;  ///< Never comes back.
    bool revoked = false;
    bool terminated = false;
    TimePoint terminated_at;
    TimePoint stalled_until;
    std::map<Token, Running> running;
    std::map<Token, TaskResult> outbox;  ///< On its disk.
    std::set<RepositoryId> workspaces;
    std::set<UnitId> caches;
    std::set<UnitId> changed;  ///< After sides.
    std::set<UnitId> after_caches;
  };
  struct Entry {
    TimePoint at;
    std::uint64_t order = 0;
    std::uint64_t kind = 0;  ///< For the hash.
    std::function<void()> act;
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  // ---- clock
  void at(TimePoint when, std::uint64_t kind, std::function<void()> act);
  void after(Duration delay, std::uint64_t kind, std::function<void()> act);
  [[nodiscard]] coordinator::Now moment() const;
  [[nodiscard]] bool faulty() const { return !options_.calm && now_ < faults_end_; }
  void breaks(const std::string& what);
  void trace(const std::string& text);

  // ---- coordinator (coordinator_node.cpp)
  void start_coordinator();
  void crash_coordinator(Duration down);
  void tell_machine(coordinator::Event event);
  void take_actions();
  void act(coordinator::Commit& commit);
  void act(coordinator::Send& send);
  void act(coordinator::Reply& reply);
  void commit_next();
  void tick_coordinator(std::uint64_t life);
  void submit_campaigns();
  void trace_transition(const coordinator::Transition& transition);
  void check_promise(const coordinator::Send& send);

  // ---- workers (worker_node.cpp)
  void start_worker(std::size_t index);
  void crash_worker(std::size_t index, std::optional<Duration> down);
  void tell_agent(std::size_t index, worker::AgentEvent event);
  void act(std::size_t index, worker::AgentAction& action);
  void start_attempt(std::size_t index, worker::StartAttempt& start);
  void finish_attempt(std::size_t index, Token token, std::uint64_t generation, bool cancelled);
  TaskResult work(WorkerNode& node, const Lease& lease);
  void work_on_change(WorkerNode& node, const Lease& lease, TaskResult& result);
  void check_verdicts();
  void arm(std::size_t index);
  void link(std::size_t index, bool up);

  // ---- network and faults (simulation.cpp)
  void to_coordinator(std::size_t index, ToCoordinator message);
  void to_worker(std::size_t index, const std::string& routing, ToWorker message);
  void deliver(std::size_t index, std::uint64_t kind, std::function<void()> arrive);
  void mend(std::size_t index);
  [[nodiscard]] Duration delay();
  [[nodiscard]] int copies();
  void next_fault();
  void end_faults();
  void check_invariants();
  [[nodiscard]] bool settled() const;
  void trace_open();
  Outcome finish();

  Options options_;
  Rng rng_;
  EventHash hash_;
  TimePoint now_;
  TimePoint faults_end_;
  Duration wall_offset_{};
  std::priority_queue<Entry> queue_;
  std::uint64_t order_ = 0;
  std::string broken_;
  Outcome outcome_;

  FakeStore store_;
  std::unique_ptr<coordinator::Machine> machine_;
  std::uint64_t life_ = 0;  ///< Of the coordinator's process.
  std::map<CampaignId, campaign::Campaign> documents_;
  struct QueuedBatch {
    std::uint64_t life = 0;
    coordinator::Commit commit;
  };
  std::deque<QueuedBatch> to_commit_;
  bool committing_ = false;
  std::vector<coordinator::SubmitCampaign> submissions_;
  std::vector<bool> submitted_;
  std::set<CampaignId> cancelled_;
  bool revoked_any_ = false;

  std::vector<WorkerNode> workers_;
  int loss_permille_ = 0;
  int double_permille_ = 0;
  int late_permille_ = 0;
};

}  // namespace cupel::sim
