/// The worker's side of the lease protocol, without I/O: sessions, leases, outbox, drain.
///
/// Pure: no clock, no randomness (a random value is handed in), no threads. Single-threaded: owned
/// by the control loop. Feed every event to step() and carry out the actions in order.
#pragma once

#include "common/core/error.hpp"
#include "common/core/message.hpp"
#include "common/core/time.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cupel::worker {

struct AgentSettings {
  WorkerId worker;
  Incarnation incarnation;
  std::string version;
  std::string host;
  std::string engine;
  /// An attempt that can't be renewed is cancelled this long before its lease ends: what a kill
  /// takes. At most a third of the lease is used.
  Duration margin = std::chrono::seconds(10);
  Duration hello_retry_first = std::chrono::seconds(1);  ///< Doubles up to hello_retry_max.
  Duration hello_retry_max = std::chrono::seconds(30);
  Duration result_resend = std::chrono::seconds(5);  ///< An unacknowledged result is sent again.
  Duration drain_deadline{};  ///< After TERM: attempts still running then are given back; 0 = none.
  Duration goodbye_wait = std::chrono::seconds(10);  ///< For the last acknowledgements at the end.
  std::uint64_t random = 0;                          ///< Spreads retries of a fleet; any value.
  std::size_t tokens_remembered =
      4096;  ///< Of attempts that were here: a repeated lease starts nothing.
};

// ---- events ------------------------------------------------------------------------------------

struct FromCoordinator {
  ToWorker message;
};
/// The attempt has ended and is cleaned up, and its result is durable in the outbox (`stored`), or
/// could not be written there (it counts as lost; the lease is let go).
struct AttemptFinished {
  LiveLease lease;
  bool stored = true;
};
struct CapacityChanged {
  Capacity capacity;
};  ///< Its `draining` is the agent's own business.
struct OutputProduced {
  LogTail tail;
};  ///< Sent when a session is there, else dropped.
struct Connected {};  ///< The transport is up (again).
struct Disconnected {};
struct AuthFailed {
  std::string text;
};  ///< The handshake was denied: key not trusted.
struct Terminate {};  ///< TERM or INT: drain; the second one stops at once.
struct Tick {};       ///< At least every 200 ms.

using AgentEvent = std::variant<FromCoordinator, AttemptFinished, CapacityChanged, OutputProduced,
                                Connected, Disconnected, AuthFailed, Terminate, Tick>;

// ---- actions -----------------------------------------------------------------------------------

enum class CancelWhy : std::uint8_t {
  lease_lost,   ///< The coordinator says so: the result would be refused.
  not_renewed,  ///< The coordinator can't be reached and the lease is about to end.
  requested,    ///< The campaign was cancelled.
  drain,        ///< Drain deadline: give it back (Ending::interrupted).
  stop,         ///< Second TERM: the process is about to exit.
};
[[nodiscard]] std::string_view name(CancelWhy why);

struct SendMessage {
  ToCoordinator message;
};
/// Send ResultMessage with the outbox's content for this lease.
struct SendResult {
  LiveLease lease;
};
/// Begin; `ends` is when the lease ends unless renewed (renewals are the agent's business).
struct StartAttempt {
  Lease lease;
  TimePoint ends;
};
/// Stop it; AttemptFinished is still expected.
struct CancelAttempt {
  LiveLease lease;
  CancelWhy why = CancelWhy::lease_lost;
};
/// Remove the result from the outbox.
struct DropResult {
  LiveLease lease;
  bool accepted = true;
};
/// The session's number, for the bulk plane; 0: none now.
struct SessionChanged {
  std::uint64_t session = 0;
  FleetId fleet;
  std::string worker_name;
};
/// Leave the process. `code` as in docs/exit-codes.md; what still runs is left to the reaper.
struct Exit {
  int code = 0;
  std::string text;
};

using AgentAction = std::variant<SendMessage, SendResult, StartAttempt, CancelAttempt, DropResult,
                                 SessionChanged, Exit>;
using AgentActions = std::vector<AgentAction>;

// ---- status ------------------------------------------------------------------------------------

enum class SessionState : std::uint8_t {
  offline,   ///< No transport.
  greeting,  ///< A hello is out (or due).
  ready,
  refused,  ///< Waits until it may say hello again.
};
[[nodiscard]] std::string_view name(SessionState state);

/// For metrics, readiness and `sd_notify`.
struct AgentStatus {
  SessionState session = SessionState::offline;
  std::string refused_text;  ///< Why, for people; "" otherwise.
  std::uint64_t session_id = 0;
  std::uint32_t slots = 0;
  std::uint32_t running = 0;  ///< Attempts that were started and are not finished.
  std::uint32_t waiting = 0;  ///< Leases that wait for a slot here.
  std::uint32_t outbox = 0;   ///< Results that are not acknowledged.
  bool draining = false;
  bool exited = false;
  TimePoint last_contact;  ///< Last message from the coordinator.
  // Grow only:
  std::uint64_t leases = 0;
  std::uint64_t leases_ignored = 0;  ///< Repeated, stale, or while draining.
  std::uint64_t cancelled_lost = 0;
  std::uint64_t cancelled_not_renewed = 0;
  std::uint64_t cancelled_requested = 0;
  std::uint64_t results_accepted = 0;
  std::uint64_t results_refused = 0;
  std::uint64_t results_resent = 0;
  std::uint64_t hellos = 0;
  std::uint64_t auth_failures = 0;
};

class Agent {
 public:
  /// `outbox`: the results found on disk at start.
  Agent(AgentSettings settings, Capacity capacity, const std::vector<LiveLease>& outbox,
        TimePoint now);

  /// `now` never goes back.
  [[nodiscard]] AgentActions step(AgentEvent event, TimePoint now);
  [[nodiscard]] AgentStatus status() const;
  /// When step(Tick) has something to do at the latest; for a timer instead of a fixed period.
  [[nodiscard]] TimePoint next_due() const;

 private:
  static constexpr int kSilentHeartbeatsMax = 4;  ///< Without an answer: say hello again.
  static constexpr Duration kLeaseMax = std::chrono::hours(1);  ///< Whatever a coordinator says.

  struct Attempt {
    Lease lease;  ///< Its spec is moved out when it starts.
    TimePoint ends;
    bool started = false;
    bool cancelled = false;
    bool wanted = true;  ///< False: the result will be dropped.
  };
  struct Outgoing {
    LiveLease lease;
    TimePoint sent;
    bool was_sent = false;
  };
  struct Beat {
    std::uint64_t number = 0;
    TimePoint sent;
  };

  void on(FromCoordinator& event, TimePoint now);
  void on(AttemptFinished& event, TimePoint now);
  void on(CapacityChanged& event, TimePoint now);
  void on(OutputProduced& event, TimePoint now);
  void on(Connected& event, TimePoint now);
  void on(Disconnected& event, TimePoint now);
  void on(AuthFailed& event, TimePoint now);
  void on(Terminate& event, TimePoint now);
  void on(Tick& event, TimePoint now);

  void on(Welcome& message, TimePoint now);
  void on(Refuse& message, TimePoint now);
  void on(Lease& message, TimePoint now);
  void on(HeartbeatAck& message, TimePoint now);
  void on(ResultAck& message, TimePoint now);
  void on(CancelTask& message, TimePoint now);
  void on(Drain& message, TimePoint now);
  void on(HelloAgain& message, TimePoint now);

  void say_hello(TimePoint now);
  void send_heartbeat(TimePoint now);
  void send_results(TimePoint now, bool all);
  void start_waiting();
  void renew(const LiveLease& lease, std::uint64_t beat, TimePoint now);
  /// Where there is a session; else the coordinator hears of it in the next hello.
  void give_back(const LiveLease& lease, std::string why);
  void cancel(Attempt& attempt, CancelWhy why);
  void abandon(const LiveLease& lease, CancelWhy why);
  void check_leases(TimePoint now);
  void check_drain(TimePoint now);
  void begin_drain(TimePoint now, Duration deadline, bool exit_after);
  void leave_session(TimePoint now);
  void remember(Token token);
  [[nodiscard]] bool remembered(Token token) const;
  [[nodiscard]] Duration margin() const;
  [[nodiscard]] TimePoint sent_at(std::uint64_t beat) const;
  [[nodiscard]] std::uint32_t running() const;
  [[nodiscard]] Capacity advertised() const;
  [[nodiscard]] bool takes_work() const;
  [[nodiscard]] std::vector<LiveLease> held() const;
  std::uint64_t next_beat(TimePoint now);
  void exit(int code, std::string text);

  AgentSettings settings_;
  Capacity capacity_;
  std::map<Token, Attempt> attempts_;
  std::map<Token, Outgoing> outbox_;
  std::deque<Token> tokens_;  ///< Recent ones, oldest first.
  std::deque<Beat> beats_;
  std::uint64_t beat_ = 0;
  std::uint64_t hello_beat_ = 0;  ///< Of the session that is ready, or of the hello that is out.
  SessionState session_ = SessionState::offline;
  std::uint64_t session_id_ = 0;
  Duration heartbeat_ = std::chrono::seconds(2);
  Duration lease_ = std::chrono::seconds(30);
  TimePoint next_hello_;
  TimePoint next_heartbeat_;
  TimePoint last_ack_;
  TimePoint last_beat_;
  std::uint32_t hello_attempt_ = 0;
  bool capacity_dirty_ = false;
  bool told_it_takes_work_ = false;  ///< In the newest hello or heartbeat.
  bool draining_ = false;
  bool drain_exits_ = false;
  bool drain_cancelled_ = false;
  TimePoint drain_deadline_;
  bool has_drain_deadline_ = false;
  TimePoint goodbye_by_;
  bool saying_goodbye_ = false;
  std::uint32_t terminations_ = 0;
  AgentStatus status_;
  AgentActions out_;
};

}  // namespace cupel::worker
