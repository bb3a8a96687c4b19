/// Which waiting task a worker gets next. Policy only: the caller says who is able to work.
///
/// Hard constraints: a task bound to the holder of its workspace goes only there; a paused
/// campaign, one at its max_parallel, or one whose image the worker lacks gives nothing; a task in
/// back-off waits. Order among what is left: larger priority; then the owner who holds fewer slots,
/// then the one who was served less time; then work bound to this worker (what is begun gets
/// finished); then the older task.
///
/// Bounds of the fair share, among owners of one priority who have work that fits every worker: the
/// slots they hold differ by at most one as soon as slots have been freed often enough, since each
/// freed slot goes to the owner with the fewest; with fewer slots than owners, the time they were
/// served differs by at most the longest task. An owner who was away doesn't save up time.
///
/// A decision costs O(log streams) plus one step for each campaign with waiting work that this
/// worker may take, down to the best priority that yields a task; the number of tasks doesn't
/// enter. A waiting task is one Task (56 bytes) in a pool and nothing else.
#pragma once

#include "common/core/ids.hpp"
#include "common/core/outcome.hpp"
#include "common/core/time.hpp"
#include "coordinator/core/model.hpp"
#include "coordinator/core/pool.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cupel::coordinator {

/// A task that isn't over. Handles instead of ids and strings; the spec stays in the store.
struct Task {
  TaskId id;
  WallTime ready;        ///< When it became ready.
  TimePoint not_before;  ///< Back-off; only while `delayed`.
  Handle campaign = kNoHandle;
  Handle repository = kNoHandle;
  Handle unit = kNoHandle;       ///< None for AcquireSource.
  Handle preferred = kNoHandle;  ///< Worker; none = anywhere.
  Handle next = kNoHandle;       ///< In its stream, while waiting there.
  Handle previous = kNoHandle;
  std::uint16_t charged = 0;
  std::uint16_t interruptions = 0;
  std::uint32_t step = 0;     ///< planner::Step, packed.
  Handle waiter = kNoHandle;  ///< Below this one among the tasks of its unit that wait.
  TaskKind kind = TaskKind::acquire;
  TaskState state = TaskState::blocked;
  bool delayed = false;
  bool retried = false;  ///< Goes before the others of its stream.
};
static_assert(sizeof(Task) <= 64, "one of these per queued task");

class Scheduler {
 public:
  /// `tasks` outlives the scheduler.
  explicit Scheduler(Pool<Task>& tasks) : tasks_(tasks) {}

  // ---- who asks
  Handle add_owner(const std::string& name);  ///< The same handle for the same name.
  void add_campaign(Handle campaign, Handle owner, std::int32_t priority,
                    std::uint32_t max_parallel);
  void remove_campaign(Handle campaign);  ///< None of its tasks may be waiting or running.
  void set_paused(Handle campaign, bool paused);

  // ---- waiting tasks
  /// The task must be queued; it waits until `not_before` when it is delayed.
  void push(Handle task);
  /// Takes a waiting task out (cancelled, blocked again).
  void remove(Handle task);
  /// Moves the tasks whose back-off is over to their streams.
  void wake(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_wake() const;

  // ---- decisions
  using Allows = std::function<bool(Handle campaign)>;
  /// The task that `worker` should get now, taken out of the queue; the caller leases it.
  [[nodiscard]] std::optional<Handle> pick(Handle worker, const Allows& allows);
  /// What keeps a campaign's tasks from starting, whichever worker asks.
  enum class Hold : std::uint8_t { none, paused, max_parallel };
  [[nodiscard]] Hold hold(Handle campaign) const;
  /// The rule by which what pick() would take goes before this waiting task; none: it would take
  /// this one, or nothing.
  enum class Precedence : std::uint8_t { none, priority, owner_slots, owner_time, bound, age };
  [[nodiscard]] Precedence before(Handle task, Handle worker, const Allows& allows) const;
  void started(Handle campaign);
  void ended(Handle campaign, Duration served);
  /// Something waits (not delayed) that `worker` might take.
  [[nodiscard]] bool has_work_for(Handle worker) const;

  // ---- views
  [[nodiscard]] std::uint32_t running(Handle campaign) const {
    return campaigns_.at(campaign).running;
  }
  [[nodiscard]] std::uint32_t running_of_owner(Handle campaign) const;
  [[nodiscard]] bool at_max_parallel(Handle campaign) const;
  [[nodiscard]] std::size_t delayed() const { return delayed_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  /// Of the tasks at the heads of streams; 0 when nothing waits.
  [[nodiscard]] WallTime oldest_ready() const;

 private:
  struct Owner {
    std::string name;
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    std::int64_t served_us = 0;
  };
  struct Campaign {
    Handle owner = kNoHandle;
    std::int32_t priority = 0;
    std::uint32_t max_parallel = 0;
    std::uint32_t running = 0;
    bool paused = false;
  };
  /// Tasks of one campaign that wait for one worker (or for any: kNoHandle).
  struct StreamKey {
    Handle lane = kNoHandle;
    std::int32_t rank = 0;  ///< Negated priority: the best comes first.
    Handle campaign = kNoHandle;
    friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
  };
  struct Stream {
    Handle head = kNoHandle;
    Handle tail = kNoHandle;
  };
  using Streams = std::map<StreamKey, Stream>;

  [[nodiscard]] StreamKey key_of(const Task& task) const;
  void append(Handle task);
  void unlink(Handle task);
  void activate(Owner& owner);
  [[nodiscard]] bool may_start(Handle campaign, const Allows& allows) const;
  struct Ranked {
    bool first = false;                ///< `a` goes before `b`,
    Precedence by = Precedence::none;  ///< by this rule (or the other way round).
  };
  [[nodiscard]] Ranked rank(const StreamKey& a, const Stream& stream_a, const StreamKey& b,
                            const Stream& stream_b) const;
  [[nodiscard]] Streams::const_iterator best_for(Handle worker, const Allows& allows) const;

  Pool<Task>& tasks_;
  std::vector<Owner> owners_;
  std::map<std::string, Handle> owner_by_name_;
  std::map<Handle, Campaign> campaigns_;
  Streams streams_;
  std::set<std::pair<TimePoint, Handle>> delayed_;
  std::size_t waiting_ = 0;
};

}  // namespace cupel::coordinator
