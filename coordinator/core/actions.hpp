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
struct DrainWorker {
  RequestId request = 0;
  WorkerId worker;
  bool on = true;
  std::uint32_t deadline_ms = 0;  ///< As Drain::deadline_ms.
};
/// The whole list; the first event of a machine's life. Sessions of keys that are gone end.
struct TrustChanged {
  std::vector<TrustedKey> keys;
};
/// At least once a second.
struct Tick {};
/// The batch is durable. `specs` as the store's Applied: one for every TaskLeased of the batch.
struct StoreCommitted {
  BatchId batch = 0;
  std::map<TaskId, std::string> specs;
};
/// The batch may or may not be durable: this machine is over (StoreLost). The app opens the store
/// again, recovers, and makes a new machine.
struct StoreFailed {
  BatchId batch = 0;
  Error error;
};

using Event =
    std::variant<MessageReceived, MalformedReceived, SubmitCampaign, CancelCampaign, PauseCampaign,
                 ResumeCampaign, DrainWorker, TrustChanged, Tick, StoreCommitted, StoreFailed>;

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
