/// Who is there: keys, worker ids, sessions, capacity. Decides who may speak and who may get work;
/// what the leases are worth is leases.hpp's.
#pragma once

#include "common/core/message.hpp"
#include "common/core/time.hpp"
#include "coordinator/core/actions.hpp"
#include "coordinator/core/counters.hpp"
#include "coordinator/core/failure_window.hpp"
#include "coordinator/core/pool.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::coordinator {

struct FleetSettings {
  Duration heartbeat = std::chrono::seconds(2);
  Duration lease = std::chrono::seconds(30);
  Duration holder_grace = std::chrono::seconds(120);
  std::uint32_t peer_messages_per_s = 200;
  std::uint32_t slots_per_worker_max = 256;
  std::uint32_t quarantine_failures = 5;
  std::uint32_t quarantine_percent = 50;
  Duration quarantine_window = std::chrono::minutes(10);
  Duration quarantine = std::chrono::seconds(60);
};

/// Why a worker gets no task. In the order in which they are named where several apply.
enum class Obstacle : std::uint8_t {
  none,
  not_trusted,
  not_connected,
  leaving,   ///< Said goodbye, or drains by its own decision.
  draining,  ///< By the operator.
  quarantined,
  blocked,   ///< It rests: Capacity::blocked says why.
  greeting,  ///< Its session is not written yet.
  silent,    ///< No sign of life for some heartbeats.
};

/// The one lease of a worker in quarantine that is no task of a campaign: it shows that its engine
/// works. In memory only: a coordinator that starts anew probes anew.
struct Probe {
  TaskId task;
  Token token;
  bool sent = false;  ///< Its numbers are committed and it is on its way.
  TimePoint expires;  ///< Unless renewed.
  TimePoint ends;
};

/// One worker id for ever; a session (number, routing, incarnation) while it is connected.
/// Why a worker belongs into quarantine.
struct Failing {
  std::optional<TaskKind> kind;  ///< None: whatever the tasks were.
  FailureWindow::Counts counts;
};

struct Worker {
  WorkerId id;
  std::string key;
  std::string host;
  std::string version;
  std::string engine;
  std::uint64_t session = 0;  ///< 0: none.
  std::string routing;
  Incarnation incarnation;
  std::uint64_t beat = 0;  ///< Newest seen in this incarnation.
  bool welcomed = false;   ///< The session's commit is done: leases may follow.
  Capacity capacity;
  TimePoint heard;
  WallTime seen;
  bool drain = false;  ///< By the operator.
  WallTime drain_by;   ///< 0: without a deadline.
  TimePoint drain_until;
  bool leaving = false;  ///< Said goodbye.
  bool away = true;  ///< Can't take work for what it holds: not connected, draining, quarantined...
  TimePoint away_since;
  std::set<TaskId> leases;       ///< Live ones.
  std::set<Token> stopping;      ///< Ended by us, perhaps still running there: each holds its slot.
  std::uint32_t workspaces = 0;  ///< Open repositories that it holds.
  FailureWindow recent;          ///< Its attempts that ended.
  std::array<FailureWindow, kTaskKinds> recent_by_kind;
  Quarantine quarantine = Quarantine::none;
  std::uint32_t round = 0;  ///< As WorkerControls::round.
  std::string quarantine_why;
  WallTime quarantine_since;
  WallTime probe_at;
  TimePoint probe_due;
  std::optional<Probe> probe;
  std::optional<TimePoint> released;  ///< The end of the last quarantine.
  std::deque<Incarnation> retired;    ///< Recent processes that gave way: they don't come back.
};

class Fleet {
 public:
  explicit Fleet(FleetSettings settings) : settings_(settings) {}

  /// From the store: the binding of a key to its id, before any session.
  Handle restore(const WorkerSeen& seen, TimePoint now);
  void set_trust(std::vector<TrustedKey> keys);
  [[nodiscard]] const TrustedKey* trusted(const std::string& key) const;

  /// False: this peer is over its rate and the message must be dropped. `cost` in messages.
  [[nodiscard]] bool within_rate(const std::string& key, TimePoint now, std::uint32_t cost = 1);

  enum class Greeting : std::uint8_t {
    welcome,
    not_trusted,
    version,
    lie,
    duplicate,
    replaced,  ///< A process that gave way to a newer one with its key.
    stale,     ///< A late copy of an older hello: no answer.
  };
  struct Greeted {
    Greeting greeting = Greeting::welcome;
    Handle worker = kNoHandle;  ///< For welcome: bound to the key, its session not yet begun.
    bool same_process = false;  ///< For welcome: the incarnation is the one before.
    Duration retry_after{};     ///< For duplicate.
  };
  [[nodiscard]] Greeted greet(const std::string& key, const Hello& hello, TimePoint now);
  void begin_session(Handle worker, std::uint64_t session, const std::string& routing,
                     const Hello& hello, Now now);
  void end_session(Handle worker, TimePoint now);

  /// The worker whose session this peer has; none when there is no such session.
  [[nodiscard]] Handle session_of(const std::string& key, const std::string& routing) const;
  [[nodiscard]] Handle by_id(WorkerId id) const;
  [[nodiscard]] Handle by_key(const std::string& key) const;

  /// Any message of the session.
  void heard(Handle worker, Now now);
  void set_capacity(Handle worker, const Capacity& capacity, TimePoint now);
  /// `deadline` zero: none.
  void set_drain(Handle worker, bool drain, Duration deadline, Now now);
  void restore(const WorkerControls& controls, Now now);
  [[nodiscard]] WorkerControls controls(Handle worker) const;
  void set_leaving(Handle worker, TimePoint now);
  /// After a stall of the coordinator itself: nobody was silent while nobody listened.
  void forgive(Duration stall);

  /// An attempt ended for a reason of the worker's own, or for any other; without a kind it stands
  /// for several. With a value so many of all, or of that kind, have failed that the worker belongs
  /// into quarantine: whoever can only fetch is no worker for the rest.
  [[nodiscard]] std::optional<Failing> attempt_ended(Handle worker, std::optional<TaskKind> kind,
                                                     bool failed, TimePoint now);
  /// Of one that is there already the words and the time of the next probe.
  void set_quarantine(Handle worker, Quarantine kind, std::string why, Now now);
  /// The pause of an automatic quarantine ends now, and counts anew from here.
  void probe_now(Handle worker, Now now);
  /// Another pause, twice as long.
  void probe_failed(Handle worker, std::string why, Now now);
  void end_quarantine(Handle worker, TimePoint now);

  /// What keeps the worker from getting any task at all; free slots are another matter.
  [[nodiscard]] Obstacle obstacle(const Worker& worker, TimePoint now) const;
  [[nodiscard]] bool may_get_work(const Worker& worker, TimePoint now) const {
    return obstacle(worker, now) == Obstacle::none;
  }
  /// A worker in automatic quarantine whose pause is over and that could take a lease otherwise.
  [[nodiscard]] bool may_be_probed(const Worker& worker, TimePoint now) const;
  [[nodiscard]] std::uint32_t free_slots(const Worker& worker) const;
  [[nodiscard]] std::uint32_t slots(const Worker& worker) const;
  /// Away for longer than the grace: its workspaces count as lost.
  [[nodiscard]] bool holder_gone(const Worker& worker, TimePoint now) const;

  [[nodiscard]] Worker& operator[](Handle worker) { return workers_[worker]; }
  [[nodiscard]] const Worker& operator[](Handle worker) const { return workers_[worker]; }
  [[nodiscard]] Handle end() const { return static_cast<Handle>(workers_.size()); }
  [[nodiscard]] const FleetSettings& settings() const { return settings_; }

 private:
  struct Bucket {
    double tokens = 0;
    TimePoint filled;
  };
  void refresh_away(Worker& worker, TimePoint now);
  [[nodiscard]] Duration pause_of(std::uint32_t round) const;
  void pause(Worker& worker, Now now);
  [[nodiscard]] Obstacle lasting_obstacle(const Worker& worker) const;
  [[nodiscard]] bool audible(const Worker& worker, TimePoint now) const;

  FleetSettings settings_;
  std::deque<Worker> workers_;
  std::unordered_map<std::string, TrustedKey> trust_;
  std::unordered_map<std::string, Handle> by_key_;
  std::unordered_map<WorkerId, Handle> by_id_;
  std::unordered_map<std::string, Bucket> rates_;
};

}  // namespace cupel::coordinator
