/// A whole fleet in one thread from one seed: the coordinator's machine, worker agents, a store, a
/// network, and faults in all of them. After every step the invariants of the lease protocol are
/// checked; a broken one ends the run with its name.
///
/// Invariants: one accepted result a task; tokens only grow; nothing is accepted with an old token;
/// promises (leases, acknowledgements, replies) only after their commit; no two attempts of one
/// task run at once, whatever is lost or delayed; no worker runs more attempts than it has slots;
/// interruptions never spend the charged budget; once faults stop, every campaign ends, every
/// outbox empties, every drain ends; a paused campaign and a worker that drains or is in quarantine
/// get nothing new; no slot goes to an owner while another one, who holds fewer, has work of the
/// same or a higher priority that any worker could do (the bound of the fair share). Excused from
/// the fourth: containers of a worker that is stopped, until it wakes and has killed them, and two
/// processes with one key, for a lease and a kill.
#pragma once

#include "coordinator/core/machine.hpp"
#include "tests/sim/fake_store.hpp"
#include "tests/sim/rng.hpp"
#include "worker/core/agent/agent.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::sim {

/// All workers hold it: a difference may be repeated on any of them.
inline const std::string kImage = "sha256:" + std::string(64, 'a');

/// What goes wrong in small all the time; a bit each, so that a shrunken run can leave some out.
enum Noise : std::uint32_t {
  kNoiseLoss = 1U << 0U,     ///< Messages that never arrive.
  kNoiseDoubles = 1U << 1U,  ///< Messages that arrive twice.
  kNoiseLate = 1U << 2U,     ///< Messages that overtake one another by seconds.
  kNoiseStore = 1U << 3U,    ///< Commits that fail, or succeed without an answer, or take seconds.
  kNoiseWork = 1U << 4U,     ///< Engine failures, timeouts, results that can't be stored.
  kNoiseSlowFiles = 1U << 5U,  ///< A worker's file thread that takes seconds.
  kNoiseCrashes = 1U << 6U,    ///< Processes that die between two actions of one step.
};
inline constexpr std::array<std::string_view, 7> kNoiseNames = {
    "loss", "doubles", "late", "store", "work", "slow_files", "crashes"};

/// The large faults, each at a moment of its own.
enum class FaultKind : std::uint8_t {
  coordinator_crash,
  worker_crash,
  worker_dies,     ///< Never comes back (the first worker does).
  partition,       ///< Both ways.
  partition_up,    ///< Only what the worker says is lost or held.
  partition_down,  ///< Only what it hears.
  worker_stops,    ///< SIGSTOP: its containers go on.
  coordinator_stops,
  wall_clock_jumps,
  worker_term,
  workspaces_lost,
  drain,           ///< And its end; of one worker or of a label, with a deadline or without.
  quarantine,      ///< And release, by the operator.
  dead_letter,     ///< Replayed, sometimes dropped.
  campaign_order,  ///< Pause, resume, cancel.
  disk_full,       ///< No commit succeeds for a while, whoever tries.
  twin,            ///< A second process with the same key, id and a copy of the directory.
};
inline constexpr std::size_t kFaultKinds = 17;
[[nodiscard]] std::string_view name(FaultKind kind);

/// A bug planted in the simulation's own adapters, to show that it would be seen.
enum class Plant : std::uint8_t {
  none,
  double_accept,  ///< The store writes each result twice.
  lost_result,    ///< The outbox forgets a result once it was sent.
  over_commit,    ///< The worker takes one attempt more than it has slots.
  early_promise,  ///< The store answers before it has written.
  no_kill,        ///< A cancelled container goes on.
  old_token,      ///< A result that came late is passed off as the live attempt's.
  token_again,    ///< The store forgets the last reservation of numbers over a restart.
  charged,        ///< Interruptions are recorded as failures of the task.
  one_owner,      ///< The machine is told that everybody is one person.
  endless,        ///< Every fifth container never ends, whatever it is told.
  unheard,        ///< The result of every fifth task is lost each time that it is sent.
};
inline constexpr std::array<std::string_view, 12> kPlantNames = {
    "none",      "double_accept", "lost_result", "over_commit", "early_promise", "no_kill",
    "old_token", "token_again",   "charged",     "one_owner",   "endless",       "unheard"};

struct Options {
  std::uint64_t seed = 1;
  Duration faults = std::chrono::seconds(120);  ///< How long things go wrong.
  Duration limit = std::chrono::hours(1);       ///< After it an open campaign counts as stuck.
  bool trace = false;                           ///< Print every event to stderr.
  bool calm = false;                            ///< No faults at all.
  Plant plant = Plant::none;
  // What a shrunken run leaves out. The schedule of the faults that are left stays the same.
  std::set<std::size_t> without = {};  ///< Large faults, by their number in the schedule.
  std::uint32_t quiet = 0;             ///< Noise.
  std::int64_t repositories_max = 1000;
  std::int64_t workers_max = 1000;
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
  std::uint64_t moved = 0;     ///< Repositories, for repeats elsewhere.
  std::uint64_t reused = 0;    ///< Before sides of earlier campaigns.
  std::uint64_t replaced = 0;  ///< Workspaces acquired again elsewhere.
  std::uint64_t probes = 0;
  std::uint64_t replayed = 0;  ///< Dead letters.
  std::size_t planned = 0;     ///< Large faults in the schedule, with those left out.
  std::array<std::uint64_t, kFaultKinds> injected{};
  std::string verdicts;  ///< Of every campaign that was not cancelled.
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
    TimePoint started;
    bool cancelled = false;
  };
  struct WorkerNode {
    std::size_t index = 0;
    std::string key;
    WorkerId id;
    std::unique_ptr<worker::Agent> agent;
    std::uint64_t generation = 0;  ///< Counts process starts.
    std::uint64_t timer = 0;       ///< Only the newest timer event counts.
    std::uint32_t slots = 1;
    Duration epoch{};       ///< Its monotonic clock's distance from the world's.
    std::int64_t ppm = 0;   ///< How fast that clock runs.
    bool linked = false;    ///< The transport says that it is up.
    bool cut_up = false;    ///< What it says doesn't arrive.
    bool cut_down = false;  ///< What it is told doesn't arrive.
    bool holds = false;     ///< While cut, messages wait as in a stalled connection.
    std::vector<std::function<void()>> held;
    bool gone = false;  ///< Never comes back.
    bool twin = false;  ///< The second process of a key.
    bool terminated = false;
    TimePoint terminated_at;
    TimePoint drained_at;  ///< By the operator, as the store says; zero: not.
    TimePoint stopped_until;
    std::deque<worker::AgentEvent> waiting;  ///< Came while it was stopped; told in their order.
    std::map<Token, Running> running;
    std::map<Token, TaskResult> outbox;  ///< On its disk.
    std::set<RepositoryId> workspaces;
    std::set<UnitId> caches;
    std::map<UnitId, std::pair<std::uint16_t, bool>> changed;  ///< After sides: variant, breaks.
    std::set<UnitId> after_caches;
  };
  struct Fault {
    TimePoint at;
    FaultKind kind = FaultKind::coordinator_crash;
    std::uint64_t random = 0;  ///< Of its own, so that leaving one out changes no other.
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
  void wake_coordinator(std::uint64_t life);
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
  void wake_worker(std::size_t index, std::uint64_t generation);
  void step_agent(std::size_t index, worker::AgentEvent event);
  void act(std::size_t index, worker::AgentAction& action);
  void start_attempt(std::size_t index, worker::StartAttempt& start);
  void finish_attempt(std::size_t index, Token token, std::uint64_t generation, bool cancelled);
  TaskResult work(WorkerNode& node, const Lease& lease);
  void work_on_change(WorkerNode& node, const Lease& lease, TaskResult& result);
  void check_verdicts();
  void arm(std::size_t index);
  void store_result(std::size_t index, std::uint64_t generation, TaskResult result);
  [[nodiscard]] TimePoint clock_of(const WorkerNode& node) const;
  [[nodiscard]] TimePoint world_time(const WorkerNode& node, TimePoint its_time) const;
  void link(std::size_t index, bool up);

  // ---- network (network.cpp)
  enum class Way : std::uint8_t { up, down };
  void to_coordinator(std::size_t index, ToCoordinator message);
  void to_worker(std::size_t index, const std::string& routing, ToWorker message);
  void deliver(std::size_t index, Way way, std::uint64_t kind, std::function<void()> arrive);
  void mend(std::size_t index);
  [[nodiscard]] static std::string process_of(const WorkerNode& node);
  [[nodiscard]] static std::string routing_of(const WorkerNode& node);
  [[nodiscard]] Duration delay();
  [[nodiscard]] int copies();

  // ---- faults (faults.cpp)
  [[nodiscard]] bool noise(Noise kind, int permille);
  [[nodiscard]] bool dies_here();
  void plan_faults();
  void inject(const Fault& fault);
  void cut(std::size_t index, bool up, bool down, Rng& rng);
  void order_campaign(Rng& rng);
  void order_workers(coordinator::OrderWorkers order, const WorkerNode& node, Rng& rng);
  void lift_orders(WorkerId worker);
  void handle_letter(TaskId task, bool replay);
  [[nodiscard]] static std::map<std::string, std::string> labels_of(const WorkerNode& node);
  void start_twin(std::size_t index, Rng& rng);
  void terminate(std::size_t index, Rng& rng);
  void end_faults();

  // ---- planted bugs (plants.cpp): each does nothing unless it was asked for
  [[nodiscard]] ToCoordinator as_it_arrives(const ToCoordinator& message) const;
  [[nodiscard]] bool is_unheard(const ToCoordinator& message) const;
  [[nodiscard]] bool is_endless(Token token) const;
  [[nodiscard]] bool is_deaf(Token token) const;
  void spoil(coordinator::Recovered& recovered) const;
  void spoil(std::vector<coordinator::Transition>& batch) const;
  [[nodiscard]] coordinator::SubmitCampaign as_it_is_asked(std::size_t which) const;

  // ---- invariants (invariants.cpp)
  void check_invariants();
  void check_attempts();
  void check_leases_of_store();
  [[nodiscard]] bool excused(const WorkerNode& node) const;
  [[nodiscard]] bool twin_of(const WorkerNode& node) const;
  [[nodiscard]] bool settled() const;
  void trace_open();
  Outcome finish();

  Options options_;
  Rng rng_;
  EventHash hash_;
  TimePoint start_;
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
  struct QueuedBatch {
    std::uint64_t life = 0;
    coordinator::Commit commit;
  };
  std::deque<QueuedBatch> to_commit_;
  bool committing_ = false;
  bool writer_broken_ = false;
  std::vector<coordinator::SubmitCampaign> submissions_;
  std::vector<bool> submitted_;
  TimePoint machine_stopped_until_;
  std::deque<coordinator::Event> machine_waiting_;  ///< Came while it was stopped.
  TimePoint disk_full_until_;
  Duration machine_epoch_{};

  std::deque<WorkerNode> workers_;  ///< Grows while others are at work: references stay.
  bool had_twin_ = false;
  std::vector<Fault> faults_;
  std::set<std::uint64_t> probes_;  ///< Tokens.
  int loss_permille_ = 0;
  int double_permille_ = 0;
  int late_permille_ = 0;
};

}  // namespace cupel::sim
