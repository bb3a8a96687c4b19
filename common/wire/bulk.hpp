/// Artifact transfers on the bulk plane as machines without I/O: messages in, messages and orders
/// out.
///
/// Upload:   PutBegin -> PutReady(offset, credit) -> PutChunk ... -> PutDone. Each PutReady moves
/// the
///           window: chunks may be sent up to `offset + credit * kBulkChunkBytes`.
/// Download: GetBegin + GetCredit -> GetChunk ... ; each GetCredit adds chunks.
///
/// Both resume: after a reconnect or a stall the worker begins again with a new transfer id, and
/// what arrives late for the old id is ignored. The digest decides at the end, whatever happened on
/// the way.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/limits.hpp"
#include "common/core/message.hpp"
#include "common/core/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cupel::wire {

inline constexpr std::uint32_t kBulkCredit = 8;      ///< Chunks in flight per transfer: 2 MiB.
inline constexpr std::uint32_t kBulkCreditMax = 32;  ///< More than that at once is no honest wish.

enum class TransferState : std::uint8_t {
  idle,  ///< Call begin().
  running,
  stalled,  ///< The other side asks for patience or lost the thread: begin() again, with back-off.
  done,
  failed,  ///< error() says why; not worth repeating as it is.
};

/// Worker: sends an artifact. The bytes stay with the caller, who reads them when told.
class BulkUpload {
 public:
  BulkUpload(LiveLease lease, Digest digest, std::uint64_t size);

  /// Starts, or starts again: `transfer` must be new in the session.
  [[nodiscard]] PutBegin begin(std::uint64_t session, std::uint64_t transfer);

  /// What to read and send next; nothing while the window is shut or the transfer isn't running.
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] std::optional<Piece> next() const;
  /// The message for the piece that next() named; `bytes` has its size. Call it only when the
  /// message will be sent, or begin() again.
  [[nodiscard]] PutChunk chunk(std::string bytes);

  /// Messages for other transfers are ignored.
  void on(const PutReady& message);
  void on(const PutDone& message);
  void on(const BulkRefuse& message);
  /// The connection went, or nothing came for long: the state becomes stalled.
  void interrupt();

  [[nodiscard]] TransferState state() const { return state_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::uint64_t transfer() const { return transfer_; }
  /// Bytes the coordinator has confirmed.
  [[nodiscard]] std::uint64_t confirmed() const { return confirmed_; }

 private:
  LiveLease lease_;
  Digest digest_;
  std::uint64_t size_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t transfer_ = 0;
  std::uint64_t confirmed_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t window_end_ = 0;
  bool ready_ = false;  ///< The first PutReady of this transfer id came: sent_ is set.
  bool resumed_ =
      false;  ///< It began beyond 0, on bytes that are not all of this worker's sending.
  std::uint32_t mismatches_ = 0;
  TransferState state_ = TransferState::idle;
  std::optional<Error> error_;
};

/// Worker: fetches an artifact that a live lease names. The caller appends the bytes it is given.
class BulkDownload {
 public:
  /// `size_max` bounds what is accepted (too_large).
  BulkDownload(LiveLease lease, Digest digest, std::uint64_t size_max);

  struct Begin {
    GetBegin begin;
    GetCredit credit;
  };
  /// Starts, or goes on from what has arrived: `transfer` must be new in the session.
  [[nodiscard]] Begin begin(std::uint64_t session, std::uint64_t transfer);

  struct Step {
    std::string append;               ///< To be written behind what is there; may be empty.
    std::optional<GetCredit> credit;  ///< To be sent after the write.
  };
  [[nodiscard]] Step on(GetChunk message);
  void on(const BulkRefuse& message);
  void interrupt();

  [[nodiscard]] TransferState state() const { return state_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::uint64_t transfer() const { return transfer_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  void fail(Errc code, std::string what);

  LiveLease lease_;
  Digest digest_;
  std::uint64_t size_max_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t transfer_ = 0;
  std::uint64_t received_ = 0;
  std::optional<std::uint64_t> size_;
  std::uint32_t owed_ = 0;  ///< Chunks received since the last GetCredit.
  Sha256 hash_;
  TransferState state_ = TransferState::idle;
  std::optional<Error> error_;
};

/// Whom a message came from; both opaque here.
struct BulkPeer {
  std::string route;  ///< Where answers go.
  std::string key;    ///< What CURVE proved.
  friend auto operator<=>(const BulkPeer&, const BulkPeer&) = default;
};

/// What BulkServer needs of the coordinator: permission, and the artifact store. Called on the bulk
/// loop; may block on a local disk. Permission is asked at the beginning and again with every chunk
/// and credit, since a lease may end meanwhile.
class BulkPort {
 public:
  BulkPort() = default;
  BulkPort(const BulkPort&) = delete;
  BulkPort& operator=(const BulkPort&) = delete;
  virtual ~BulkPort() = default;

  /// The session belongs to the peer's key, the lease is live and its task may add artifacts of
  /// this size. Errors: lease_lost, not_trusted, refused_by_policy, too_large, disk_full.
  [[nodiscard]] virtual Result<void> may_put(const BulkPeer& peer, std::uint64_t session,
                                             const LiveLease& lease, const Digest& digest,
                                             std::uint64_t size) = 0;
  /// The lease is live and its spec names the digest. Errors: as may_put.
  [[nodiscard]] virtual Result<void> may_get(const BulkPeer& peer, std::uint64_t session,
                                             const LiveLease& lease, const Digest& digest) = 0;

  struct Opened {
    std::uint64_t offset = 0;  ///< Bytes of an earlier, unfinished transfer that are kept.
    bool complete = false;     ///< The artifact is here already.
  };
  [[nodiscard]] virtual Result<Opened> open_put(const Digest& digest, std::uint64_t size) = 0;
  /// `offset` is where the last call ended.
  [[nodiscard]] virtual Result<void> append(const Digest& digest, std::uint64_t offset,
                                            std::string_view bytes) = 0;
  /// Verifies and makes it durable. artifact_mismatch drops what was kept.
  [[nodiscard]] virtual Result<void> finish_put(const Digest& digest) = 0;

  /// Size of a complete artifact. Errors: not_found.
  [[nodiscard]] virtual Result<std::uint64_t> open_get(const Digest& digest) = 0;
  [[nodiscard]] virtual Result<std::string> read(const Digest& digest, std::uint64_t offset,
                                                 std::size_t bytes) = 0;
};

struct BulkServerLimits {
  std::size_t transfers_max = 256;  ///< In all.
  std::size_t transfers_per_key_max = 16;
  Duration idle_max = std::chrono::seconds(60);  ///< A silent transfer gives way to another.
  std::uint64_t artifact_bytes_max = kArtifactBytesMax;
  /// What one lease may add, finished or not; each upload costs `put_overhead_bytes` besides.
  std::uint64_t lease_bytes_max = 2ULL << 30;
  std::uint64_t put_overhead_bytes = 64ULL << 10;
  std::size_t leases_remembered = 65'536;
  /// Messages of one key that were refused, ignored or malformed; beyond it nothing of it is read.
  double faults_per_s = 50;
  double faults_burst = 1000;
};

/// Grows only.
struct BulkCounters {
  std::uint64_t puts_done = 0;
  std::uint64_t gets_done = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t refused = 0;
  std::uint64_t ignored = 0;       ///< Chunks twice, late, or for no transfer.
  std::uint64_t mismatched = 0;    ///< Uploads whose digest was not the promised one.
  std::uint64_t malformed = 0;     ///< Frames that were no message.
  std::uint64_t rate_limited = 0;  ///< Dropped: the key had too many faults.
};

/// Coordinator: all transfers of all workers. Single-threaded.
class BulkServer {
 public:
  /// `port` outlives the server.
  explicit BulkServer(BulkPort& port, BulkServerLimits limits = {});

  /// The answers, to be sent to `peer` in order. A malformed or forbidden request is answered,
  /// counted and changes nothing else.
  [[nodiscard]] std::vector<BulkToWorker> on_message(const BulkPeer& peer,
                                                     BulkToCoordinator message, TimePoint now);
  /// Bytes that were no message: counted, and part of the peer's faults.
  void on_malformed(const BulkPeer& peer, TimePoint now);
  /// The session ended or its key was revoked.
  void drop_session(std::uint64_t session);
  /// Forgets transfers that are silent for longer than the limit; call it now and then.
  void tick(TimePoint now);

  [[nodiscard]] std::size_t transfers() const { return puts_.size() + gets_.size(); }
  [[nodiscard]] const BulkCounters& counters() const { return counters_; }

 private:
  using Answers = std::vector<BulkToWorker>;
  /// Transfer ids are the worker's: the key keeps one worker from naming another's transfer.
  struct Id {
    std::string key;
    std::uint64_t session = 0;
    std::uint64_t transfer = 0;
    friend auto operator<=>(const Id&, const Id&) = default;
  };
  struct Put {
    Digest digest;
    LiveLease lease;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::uint64_t announced = 0;  ///< Offset of the last PutReady.
    TimePoint heard;
  };
  struct Get {
    Digest digest;
    LiveLease lease;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    TimePoint heard;
  };

  void on(const BulkPeer& peer, const PutBegin& message, TimePoint now, Answers& answers);
  void on(const BulkPeer& peer, const PutChunk& message, TimePoint now, Answers& answers);
  void on(const BulkPeer& peer, const GetBegin& message, TimePoint now, Answers& answers);
  void on(const BulkPeer& peer, const GetCredit& message, TimePoint now, Answers& answers);
  void finish(std::map<Id, Put>::iterator put, Answers& answers);
  void refuse(std::uint64_t transfer, const Error& error, Answers& answers);
  struct Faults {
    double left = 0;
    TimePoint filled;
  };
  [[nodiscard]] Faults& faults_of(const std::string& key, TimePoint now);
  [[nodiscard]] std::uint64_t spent_of(const LiveLease& lease) const;
  void charge(const LiveLease& lease, std::uint64_t bytes);
  [[nodiscard]] std::optional<Error> no_room(const std::string& key) const;
  /// Frees the digest for `peer` when its upload is this worker's own or silent.
  [[nodiscard]] bool take_over(const Digest& digest, const std::string& key, TimePoint now);

  BulkPort& port_;
  BulkServerLimits limits_;
  std::map<Id, Put> puts_;
  std::map<Id, Get> gets_;
  std::map<std::string, Faults> faults_;
  std::map<Token, std::uint64_t> spent_;  ///< Bytes of each lease; tokens only grow.
  BulkCounters counters_;
};

}  // namespace cupel::wire
