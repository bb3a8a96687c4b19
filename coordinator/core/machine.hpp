/// The coordinator's core: every decision about campaigns, tasks, leases and sessions, without I/O.
///
/// Pure: no clock, no randomness, no threads; the same events give the same actions. What it
/// promises (leases, acknowledgements, welcomes, replies) leaves only after the commit of the batch
/// that makes it true. Single-threaded: owned by the control loop.
///
/// The loop: on() for every event that is there, then take() once and carry out the actions in
/// order. One take() gives at most one Commit, so what arrives together is committed together.
#pragma once

#include "coordinator/core/actions.hpp"
#include "coordinator/core/counters.hpp"
#include "coordinator/core/explain.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cupel::coordinator {

struct MachineSettings {
  Duration heartbeat = std::chrono::seconds(2);
  Duration lease = std::chrono::seconds(30);
  /// Renewals end here even where the task's own limits would allow more.
  Duration task_max = std::chrono::hours(24);
  /// How long the holder of a workspace may be away (lost, draining or blocked) before the
  /// repository is acquired elsewhere.
  Duration holder_grace = std::chrono::seconds(120);
  Duration backoff_first = std::chrono::seconds(2);  ///< After a failed attempt; doubles.
  Duration backoff_max = std::chrono::minutes(5);
  /// Messages of one key beyond accepted results, per second; ten seconds' worth may come at once.
  std::uint32_t peer_messages_per_s = 200;
  std::uint32_t repositories_per_batch = 500;  ///< A large campaign is written in steps.
  std::uint64_t ids_per_reservation = 10'000;
  std::uint64_t tokens_per_reservation = 10'000;
  std::uint32_t slots_per_worker_max = 256;  ///< Whatever a worker says.
  /// A worker goes into quarantine once so many of its attempts ended for a reason of its own
  /// within the window, and they are at least this share of those that ended there at all.
  std::uint32_t quarantine_failures = 5;
  std::uint32_t quarantine_percent = 50;
  Duration quarantine_window = std::chrono::minutes(10);
  /// Until its first probe; doubles with each one that fails, at most 16 times.
  Duration quarantine = std::chrono::seconds(60);
  Duration probe_limit = std::chrono::minutes(3);    ///< A probe without an answer has failed.
  std::size_t accepted_results_remembered = 65'536;  ///< To answer repetitions.
  /// May this worker run tasks of this campaign's image setting ("auto", a minor or an identity)?
  /// Empty: an identity ("sha256:...") must be among the worker's images, everything else may.
  std::function<bool(const std::string& image, const std::vector<std::string>& images)>
      image_allowed;
};

enum class WorkerState : std::uint8_t { idle, busy, draining, blocked, quarantined, lost };
[[nodiscard]] std::string_view name(WorkerState state);

struct WorkerView {
  WorkerId id;
  std::string name;
  WorkerState state = WorkerState::lost;
  std::uint32_t slots = 0;
  std::uint32_t running = 0;
  std::string engine;
  std::string version;
  std::string host;
  std::string blocked;
  std::map<std::string, std::string> labels;
  WallTime last_seen;
  bool draining = false;  ///< By the operator; `state` says what it comes to.
  WallTime drain_by;
  Quarantine quarantine = Quarantine::none;
  std::string quarantine_why;
  WallTime quarantine_since;
  WallTime probe_at;
  bool probing = false;        ///< A probe is out.
  std::uint32_t failures = 0;  ///< Of its own, within the window,
  std::uint32_t attempts = 0;  ///< of so many that ended.
};

class Machine {
 public:
  /// `campaigns`: the parsed document of every campaign in `recovered`; one that is missing (its
  /// text could not be parsed any more) is cancelled.
  Machine(MachineSettings settings, const Recovered& recovered,
          std::map<CampaignId, campaign::Campaign> campaigns, Now now);
  ~Machine();
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;

  /// `now.mono` never goes back.
  void on(Event event, Now now);
  [[nodiscard]] Actions take();
  /// on() and take() in one.
  [[nodiscard]] Actions step(Event event, Now now);

  // For the bulk plane. Errors of the checks: not_trusted (no such session of this key),
  // lease_lost, refused_by_policy.
  [[nodiscard]] bool lease_is_live(std::uint64_t session, const std::string& key,
                                   const LiveLease& lease) const;
  [[nodiscard]] Result<void> may_put(std::uint64_t session, const std::string& key,
                                     const LiveLease& lease) const;
  /// Only what the lease's own task names: the artifact of its BundleSource, or of a candidate.
  [[nodiscard]] Result<void> may_get(std::uint64_t session, const std::string& key,
                                     const LiveLease& lease, const Digest& artifact) const;

  // For the API and metrics.
  [[nodiscard]] std::vector<WorkerView> workers() const;  ///< In id order.
  /// Why an open task (or that of an open unit which is under way) doesn't run right now; nothing
  /// for one that isn't open.
  [[nodiscard]] std::optional<Explanation> explain(TaskId task) const;
  [[nodiscard]] std::optional<Explanation> explain(UnitId unit) const;
  /// Nothing for a campaign that isn't open.
  [[nodiscard]] std::optional<CampaignExplanation> explain(CampaignId campaign) const;
  /// The same as one sentence.
  [[nodiscard]] std::optional<std::string> why(TaskId task) const;
  [[nodiscard]] const Counters& counters() const;
  [[nodiscard]] Gauges gauges() const;
  /// Nothing is pending and no task is leased: safe to stop at once (it is safe at any time).
  [[nodiscard]] bool quiet() const;
  /// A lease is live, so a result may be on its way.
  [[nodiscard]] bool awaits_results() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel::coordinator
