/// What goes into the coordinator's machine and what comes out of it.
#pragma once

#include "common/campaign/campaign.hpp"
#include "common/core/error.hpp"
#include "common/core/message.hpp"
#include "common/core/time.hpp"
#include "coordinator/core/model.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace cupel::coordinator {

/// The two clocks of one instant: `mono` for leases and back-off, `wall` for records only.
struct Now {
  TimePoint mono;
  WallTime wall;
};

using BatchId = std::uint64_t;    ///< From 1, in the order of the commits.
using RequestId = std::uint64_t;  ///< The app's own number of a request; comes back in Reply.

/// A key of the trust list. `key` is the opaque bytes by which the app names a CURVE key.
struct TrustedKey {
  std::string key;
  std::string name;
  std::map<std::string, std::string> labels;
};

// ---- events ------------------------------------------------------------------------------------

/// `key` is what CURVE proved, `routing` where an answer goes; both opaque here.
struct MessageReceived {
  std::string key;
  std::string routing;
  ToCoordinator message;
};
/// Bytes that were no message: counted, and part of the peer's rate.
struct MalformedReceived {
  std::string key;
  std::string routing;
};
/// `owner` is the token's identity; Campaign::owner wins where it is set. `document` is the
/// campaign's canonical JSON. Answered by Reply with the id.
struct SubmitCampaign {
  RequestId request = 0;
  campaign::Campaign campaign;
  std::string document;
  std::string owner;
  std::string idempotency_key;  ///< Empty: none. Finished campaigns' keys are the store's to find.
};
struct CancelCampaign {
  RequestId request = 0;
  CampaignId campaign;
};
struct PauseCampaign {
  RequestId request = 0;
  CampaignId campaign;
};
struct ResumeCampaign {
  RequestId request = 0;
  CampaignId campaign;
};
enum class WorkerOrder : std::uint8_t {
  drain,       ///< No new tasks.
  undrain,     ///< Tasks again.
  quarantine,  ///< No new tasks until it is released.
  release,     ///< Out of quarantine, once a probe has passed.
};
/// For one worker, or for all that have these labels. Answered by Reply with the workers; errors:
/// not_found.
struct OrderWorkers {
  RequestId request = 0;
  WorkerOrder order = WorkerOrder::drain;
  WorkerId worker;                            ///< 0: those with all of `labels`, at least one.
  std::map<std::string, std::string> labels;  ///< As the trust list says.
  std::uint32_t deadline_ms = 0;  ///< drain: then running attempts are given back; 0 = never.
  std::string why;                ///< quarantine: the operator's words.
  bool probe = true;              ///< release: false takes the operator's word for it.
};
/// Ask again what a dead letter left without an answer, with a fresh budget: the units whose
/// verdicts rest on it are open again, and so is their campaign. Everything but `request` as the
/// store has it. Errors: conflict.
struct ReplayDeadLetter {
  RequestId request = 0;
  DeadLetterRow letter;
  RepositoryRow repository;
  std::vector<UnitRow> units;  ///< Its unit, or those that it decided.
  // Of its campaign, for one that is over:
  CampaignRow campaign;
  campaign::Campaign asked;
  std::map<Verdict, std::uint64_t> verdicts;
};
/// People have seen it; the verdict stays. Errors: conflict.
struct DropDeadLetter {
  RequestId request = 0;
  DeadLetterRow letter;  ///< As the store has it.
};
/// The whole list; the first event of a machine's life. Sessions of keys that are gone end.
struct TrustChanged {
  std::vector<TrustedKey> keys;
};
/// At least once a second.
struct Tick {};
/// The batch is durable. `specs` and `baselines` as the store's Applied: a spec for every
/// TaskLeased of the batch, a before side for each BaselineWanted that has one.
struct StoreCommitted {
  BatchId batch = 0;
  std::map<TaskId, std::string> specs;
  std::map<UnitId, BaselineRow> baselines = {};
};
/// The batch may or may not be durable: this machine is over (StoreLost). The app opens the store
/// again, recovers, and makes a new machine.
struct StoreFailed {
  BatchId batch = 0;
  Error error;
};

using Event = std::variant<MessageReceived, MalformedReceived, SubmitCampaign, CancelCampaign,
                           PauseCampaign, ResumeCampaign, OrderWorkers, ReplayDeadLetter,
                           DropDeadLetter, TrustChanged, Tick, StoreCommitted, StoreFailed>;

// ---- actions -----------------------------------------------------------------------------------

/// Give this to StoreWriter::apply, in the order of the batch numbers; every batch is answered by
/// one StoreCommitted or StoreFailed.
struct Commit {
  BatchId batch = 0;
  std::vector<Transition> transitions;
};
struct Send {
  std::string key;
  std::string routing;
  ToWorker message;
};
/// Only after the commit that makes it true.
struct Reply {
  RequestId request = 0;
  struct Done {
    CampaignId campaign;    ///< 0 for requests about workers.
    bool repeated = false;  ///< The idempotency key was known: the earlier campaign's id.
    std::vector<WorkerId> workers = {};  ///< Of OrderWorkers: whom it concerned, in id order.
  };
  Result<Done> answer = Done{};
};
/// Live output of a lease that is live.
struct PassLogTail {
  CampaignId campaign;
  LogTail tail;
};
/// For BulkServer::drop_session: the session is over (taken over, revoked, lost).
struct SessionClosed {
  std::uint64_t session = 0;
};
/// One sample for a histogram.
struct Observe {
  enum class What : std::uint8_t {
    queue_wait,  ///< Ready until leased.
    task_run,    ///< Leased until the accepted result.
  };
  What what = What::queue_wait;
  TaskKind kind = TaskKind::acquire;
  Duration value{};
};
/// After StoreFailed: nothing else will come from this machine.
struct StoreLost {
  Error error;
};

using Action = std::variant<Commit, Send, Reply, PassLogTail, SessionClosed, Observe, StoreLost>;
using Actions = std::vector<Action>;

}  // namespace cupel::coordinator
