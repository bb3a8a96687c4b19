/// What the machine knows and how its parts work together. Private to coordinator/core.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/core/json_text.hpp"
#include "common/images/select.hpp"
#include "coordinator/core/fleet.hpp"
#include "coordinator/core/leases.hpp"
#include "coordinator/core/machine.hpp"
#include "coordinator/core/planner.hpp"
#include "coordinator/core/recipe.hpp"
#include "coordinator/core/records.hpp"
#include "coordinator/core/scheduler.hpp"
#include "coordinator/core/source_text.hpp"
#include "coordinator/core/tool_desk.hpp"

#include <nlohmann/json.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace cupel::coordinator {

struct Machine::State {
  State(MachineSettings settings_, const Recovered& recovered,
        std::map<CampaignId, campaign::Campaign> parsed, Now now_);

  MachineSettings settings;
  Now now;
  Pool<Task> tasks;
  Pool<Unit> units;
  Pool<Repository> repositories;
  std::map<Handle, CampaignEntry> campaigns;
  std::deque<FinishedKey> finished_keys;
  std::map<CampaignId, Handle> campaign_by_id;
  Handle next_campaign = 0;
  Scheduler scheduler;
  Fleet fleet;
  LeaseTable leases;
  AcceptedResults accepted;
  ToolDesk tools;
  Sequence ids;
  Sequence tokens;
  Counters counters;
  bool lost = false;

  // ---- batches
  struct LeaseReady {
    TaskId task;
    Token token;
  };  ///< Send the lease.
  struct SessionReady {
    Handle worker;
    std::uint64_t session;
    Welcome welcome;
  };
  struct StepOn {
    Handle campaign;
  };  ///< Go on creating or cancelling.
  struct ProbeReady {
    Handle worker;
    Token token;
  };
  /// Go on with a unit that waits to hear whether its before side is known.
  struct BaselineReady {
    Handle unit;
    UnitId id;  ///< The handle may be another unit's by then.
    UnitInfo info;
  };
  using Promise =
      std::variant<Send, Reply, LeaseReady, SessionReady, StepOn, ProbeReady, BaselineReady>;
  struct Batch {
    BatchId id = 0;
    std::vector<Promise> promises;
  };
  std::vector<Transition> batch;
  std::vector<Promise> promises;
  std::deque<Batch> pending;
  BatchId last_batch = 0;
  BatchId committed = 0;
  Actions out;

  void write(Transition transition) { batch.push_back(std::move(transition)); }
  void after_commit(Promise promise) { promises.push_back(std::move(promise)); }
  void send(Handle worker, ToWorker message);
  void send_to(const std::string& key, const std::string& routing, ToWorker message);
  void promise_send(Handle worker, ToWorker message);
  void event(CampaignId campaign, std::string type, const nlohmann::json& body);
  void event_line(CampaignId campaign, std::string type, JsonLine& body);
  void reply(RequestId request, Result<Reply::Done> answer);
  void flush();
  void keep(Promise& promise, const StoreCommitted& answer);
  void send_lease(const LeaseReady& ready, const std::map<TaskId, std::string>& specs);
  std::uint64_t next_id() { return ids.take(); }

  // ---- events (machine.cpp, machine_messages.cpp, machine_campaigns.cpp)
  void on(MessageReceived& event);
  void on(MalformedReceived& event);
  void on(SubmitCampaign& event);
  void on(CancelCampaign& event);
  void on(PauseCampaign& event);
  void on(ResumeCampaign& event);
  void on(OrderWorkers& event);
  void on(ReplayDeadLetter& event);
  void on(DropDeadLetter& event);
  void on(TrustChanged& event);
  void on(Tick& event);
  void on(StoreCommitted& event);
  void on(StoreFailed& event);

  // ---- sessions and messages (machine_messages.cpp)
  void on_hello(const MessageReceived& from, const Hello& hello);
  Welcome settle_hello(Handle worker, const Hello& hello, bool same_process);
  void on_message(Handle worker, Heartbeat& heartbeat);
  void on_message(Handle worker, ResultMessage& message);
  void on_message(Handle worker, LogTail& tail);
  void on_message(Handle worker, Goodbye& goodbye);
  void close_session(Handle worker);
  void lose_worker(Handle worker, const std::string& why);
  void renew(Attempt& attempt);

  // ---- orders, quarantine and probes (machine_fleet.cpp)
  void write_controls(Handle worker);
  [[nodiscard]] Drain drain_order(Handle worker) const;
  void order_drain(Handle worker, bool on, std::uint32_t deadline_ms);
  void order_release(Handle worker, bool probe);
  /// `failure`: what the worker did wrong ("its engine failed"); empty when the attempt ended for
  /// any other reason. Too many of them quarantine it.
  void attempt_ended(Handle worker, std::optional<TaskKind> kind, const std::string& failure);
  void quarantine(Handle worker, Quarantine kind, const std::string& why);
  void release(Handle worker, const std::string& by);
  void tend_probes();
  void send_probe(const ProbeReady& ready);
  [[nodiscard]] bool renew_probe(Worker& worker, const LiveLease& lease) const;
  /// False: the result is no probe's.
  bool take_probe(Handle worker, const TaskResult& result);
  void end_probe(Handle worker, const std::string& failure);
  void lose_probe(Handle worker);

  // ---- from the queue to a worker, and its answer (machine_tasks.cpp)
  void schedule();
  void grant(Handle task, Handle worker);
  void take_result(Attempt& attempt, TaskResult result);
  /// Interrupted, or its workspace is gone.
  void take_no_answer(const Attempt& attempt, TaskResult result, planner::Decision decision);
  void take_answer(Attempt& attempt, TaskResult result, planner::Decision decision);
  /// A unit after its task: its verdict, the next task, or the one that waited for this.
  void lead_on(Handle unit, planner::UnitPlan plan, const UnitInfo& info, TaskId done,
               double seconds);
  void finish_task(Handle task, Token token, TaskResult result, bool dead);

  // ---- attempts without an answer (machine_returns.cpp)
  /// Ends the attempt; the task goes back, or becomes a dead letter. `costs` false: not the task's
  /// nor its worker's doing.
  void interrupt(Attempt& attempt, Reason reason, const std::string& why, bool costs = true);
  void put_back(const Attempt& attempt, planner::Decision decision, Reason reason,
                const std::string& why);
  void end_attempt(TaskId task, bool still_runs);
  void bury(Handle task, Reason reason, const std::string& why);
  void give_up(Handle unit, planner::Step step, planner::Judgement judgement, TaskId task);
  void note_dead(const Task& task, Reason reason, const std::string& why);
  void start_waiting(Handle task);
  [[nodiscard]] Duration backoff(const Task& task, std::uint32_t attempt) const;

  // ---- making and placing tasks (machine_placing.cpp)
  /// What this task asks is in its repository's record alone; the store keeps no spec of it.
  [[nodiscard]] bool is_first_acquisition(const Task& task) const;
  /// `only`: of an acquisition, the worker that is to make it.
  Handle create_task(Handle repository, Handle unit, planner::Step step, Work work,
                     Handle only = kNoHandle);
  /// Blocked, or queued at the holder; makes what it needs first when that is gone.
  void place(Handle task, const UnitInfo* info);
  [[nodiscard]] bool must_wait(const Task& task) const;
  /// The first thing that a task needs and that isn't where its repository is.
  [[nodiscard]] std::optional<planner::Step> missing(const Task& task) const;
  /// Where what a stage makes is; kNoHandle for the stages that make nothing.
  [[nodiscard]] static Handle place_of(const Unit& unit, planner::Step step);
  static void put_place(Unit& unit, planner::Step step, Handle worker);
  void park(Handle unit, Handle task);
  void drop_task(Handle task);

  // ---- scans and their tools (machine_tools.cpp)
  /// The toolchain images of a worker that the campaign's units may get there and that a scanner is
  /// known for.
  [[nodiscard]] std::vector<images::Available> scan_images(const CampaignEntry& campaign,
                                                           const Worker& worker) const;
  [[nodiscard]] bool waits_for_tool(const Task& task) const;
  [[nodiscard]] bool misses_modules(const Task& task) const;
  void tend_tools();
  void move_tools();
  void start_tool(Handle campaign, ToolEntry& entry);
  Handle create_tool_task(Handle campaign, Handle worker, const ToolEntry& entry);
  void tool_done(Handle task, const TaskResult& result);
  void tool_lost(Handle task, Reason reason, const std::string& why);
  void end_tool(Handle task);
  void drop_tools(Handle campaign);
  void release_scans();
  void add_scan(const CampaignEntry& campaign, const Worker& worker, Execute& execute) const;

  // ---- repositories and units (machine_plan.cpp)
  void source_done(Handle repository, Handle worker, planner::SourcePlan plan, TaskId task);
  void acquired_first(Handle repository, Handle worker, planner::SourcePlan plan, TaskId task);
  void acquired_again(Handle repository, Handle worker, const planner::SourcePlan& plan);
  /// `to`: there, if it is to be one worker's.
  void acquire_again(Handle repository, const std::string& why, Handle to = kNoHandle);
  void fail_repository(Handle repository, planner::Judgement judgement);
  void add_unit(Handle repository, planner::PlannedUnit unit, TaskId decided_by);
  Handle create_unit(Handle repository, const UnitInfo& info);
  void begin_unit(Handle unit, planner::PlannedUnit planned, TaskId decided_by);
  /// What comes after an accepted result of a unit's task.
  planner::UnitPlan plan_on(Handle unit, planner::Step done, const UnitInfo& info,
                            const TaskResult& result, Handle worker);
  planner::UnitPlan plan_from_start(Handle unit, const UnitInfo& info);
  /// The planned task, or what goes before it.
  void go_on(Handle unit, planner::NextTask next, const UnitInfo& info);

  // ---- repeats elsewhere (machine_confirm.cpp)
  /// Where a repository is to go, and where it was.
  struct Move {
    Handle from;
    Handle to;
  };
  std::map<Handle, Move> moves;  ///< By repository; until it is acquired there.
  /// Before a repeat of the unit: moves its repository to another worker, once, where there is one.
  void confirm_elsewhere(Handle unit, planner::Step step);
  [[nodiscard]] Handle other_worker(const CampaignEntry& campaign, const compare::Book& book,
                                    Handle first) const;
  void move_repository(Handle repository, Handle to);
  bool move_back(Handle repository);
  void check_moves();

  // ---- stored before sides (machine_baselines.cpp)
  /// True: the store is asked whether this step's result is known; then baseline_ready() goes on.
  bool ask_baseline(Handle unit, planner::Step step, const UnitInfo& info);
  void baseline_ready(const BaselineReady& ready, const BaselineRow* known);
  /// After the verdict: keeps the unit's before side for others, or drops one that misled it.
  void settle_baseline(const Unit& unit, const UnitInfo& info, const compare::Conclusion* found);
  /// The image that the unit's before side gets on the worker; empty where that isn't known.
  [[nodiscard]] std::string image_on(Handle worker, const CampaignEntry& campaign,
                                     const UnitInfo& info) const;

  void write_comparison(const Unit& unit, const planner::Judgement& judgement,
                        const UnitInfo* info);
  void finish_unit(Handle unit, const planner::Judgement& judgement, const UnitInfo* info,
                   TaskId decided_by, double seconds);
  void set_holder(Handle repository, Handle worker);
  void check_holders();
  void close_repository(Handle repository);

  // ---- campaigns (machine_campaigns.cpp)
  Handle open_campaign(CampaignEntry entry, std::uint32_t max_parallel);
  void step_campaign(Handle campaign);
  void create_some(Handle campaign);
  void create_repository(Handle campaign, std::uint32_t ordinal, campaign::RepositoryEntry& entry);
  void cancel_some(Handle campaign);
  void start_cancel(Handle campaign, std::string why);
  void cancel_repository(Handle repository, const std::string& why);
  void cancel_task(Handle task);
  void check_finished(Handle campaign);
  void set_paused(RequestId request, CampaignId id, bool paused);
  Handle add_repository(Handle campaign, const RepositoryRow& row, const RepositorySource& source);
  void check_deadlines();
  [[nodiscard]] Handle find_campaign(CampaignId id) const;

  // ---- small helpers
  [[nodiscard]] RepositorySource source_of(const Repository& repository) const;
  /// The work of acquiring it, for the first time or again at its pin.
  [[nodiscard]] AcquireSource acquisition_of(const Repository& repository) const;
  CampaignEntry& campaign_of(const Repository& repository) {
    return campaigns.at(repository.campaign);
  }
  [[nodiscard]] const planner::Question& question_of(const Repository& repository) const;
  /// How long an attempt of a task may live.
  [[nodiscard]] Duration life_of(const Work& work, Handle task) const;
  void end_overrun();
  [[nodiscard]] std::string worker_name(Handle worker) const;

  // ---- dead letters (machine_letters.cpp)
  /// Why it can't be replayed; empty: it can.
  [[nodiscard]] std::string obstacle_to_replay(const ReplayDeadLetter& event) const;
  Handle campaign_for(ReplayDeadLetter& event);
  Handle repository_for(Handle campaign, const RepositoryRow& row);
  void ask_repository_again(Handle repository, const std::vector<UnitRow>& stand_ins);
  void ask_units_again(Handle repository, const RepositoryRow& row,
                       const std::vector<UnitRow>& rows);

  // ---- why (machine_why.cpp), and what schedule() asks as well
  /// The image of a campaign that the worker lacks; empty: none.
  [[nodiscard]] std::string missing_image(const CampaignEntry& campaign,
                                          const Worker& worker) const;
  /// The campaign demands enforced egress, and the worker has none.
  [[nodiscard]] static bool lacks_egress(const CampaignEntry& campaign, const Worker& worker) {
    return campaign.settings.require_enforced_egress && !worker.capacity.enforces_egress;
  }
  [[nodiscard]] bool can_run(const CampaignEntry& campaign, const Worker& worker) const;
  std::optional<Handle> pick_for(Handle worker);
  [[nodiscard]] std::optional<WaitReason> worker_obstacle(const Task& task, Handle worker) const;
  [[nodiscard]] WaitReason turn_of(Handle task, Handle worker) const;
  [[nodiscard]] std::vector<WaitReason> why_queued(Handle task) const;
  [[nodiscard]] std::vector<WaitReason> reasons_of(Handle task) const;
  [[nodiscard]] std::optional<Explanation> explain(Handle task) const;

  // ---- start (machine_recover.cpp)
  void recover(const Recovered& recovered, std::map<CampaignId, campaign::Campaign> parsed);
  void recover_task(const TaskRow& row, const std::map<RepositoryId, Handle>& repository_of,
                    const std::map<UnitId, Handle>& unit_of_id,
                    const std::map<Handle, UnitInfo>& infos, Handle preferred, Handle worker);
  void resume_repository(Handle repository, const std::map<Handle, UnitInfo>& infos);
  void resume_unit(Handle unit, const UnitInfo& info);
  /// Of a campaign that is known from its record: all but its sources.
  [[nodiscard]] CampaignEntry entry_of(const CampaignRow& row,
                                       const campaign::Campaign* asked) const;
  /// `progress`: as the store has it; nullptr = none.
  Handle open_unit(Handle repository, const UnitRow& row, const UnitInfo& info,
                   const std::string* progress);
  Handle known_worker(WorkerId id);
  FleetId fleet_id;
  std::set<Handle> touched;  ///< Campaigns that may be finished.
};

[[nodiscard]] inline Error failure(Errc code, std::string what) {
  Error error;
  error.code = code;
  error.what = std::move(what);
  return error;
}
/// FNV-1a; names a unit's folder in eight bytes.
[[nodiscard]] std::uint64_t hash_of(std::string_view text);
/// What a campaign asks of each unit, and the ordinals of its A/A sample. Before its entries are
/// moved out of `asked`.
void take_question(CampaignEntry& entry, const campaign::Campaign& asked);
/// The facts of a unit as its record has them; empty when they can't be read.
[[nodiscard]] UnitInfo unit_from_text(const std::string& text);
/// What the worker's own selection of images sees (common/images/select.hpp).
[[nodiscard]] std::vector<images::Available> available_on(const Worker& worker);
/// Unit facts of a piece of work; nullptr for those that have none.
[[nodiscard]] const UnitInfo* unit_of(const Work& work);

}  // namespace cupel::coordinator
