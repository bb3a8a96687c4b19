/// The worker's end of the bulk plane: uploads and downloads that survive a lost connection.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/message.hpp"
#include "common/net/dealer.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cupel::worker {

/// Single-threaded: everything runs on the io_context it was made with. A coroutine of another loop
/// calls `co_await co_spawn(executor(), link.upload(...), use_awaitable)`.
class BulkLink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BulkLink>> connect(boost::asio::io_context& io,
                                                                 zmq::context_t& context,
                                                                 net::DealerOptions options);
  BulkLink(const BulkLink&) = delete;
  BulkLink& operator=(const BulkLink&) = delete;
  ~BulkLink();

  [[nodiscard]] boost::asio::io_context::executor_type executor() const;

  /// To another coordinator, from now on. Errors: those of connect(); then it stays where it was.
  [[nodiscard]] Result<void> move(zmq::context_t& context, net::DealerOptions options);

  /// The session of the control plane; 0 = none: transfers wait. Running ones begin again.
  void set_session(std::uint64_t session);

  /// Returns when the coordinator holds the artifact durably. Repeats after stalls until `limit` is
  /// spent. Errors: retry_later (limit spent), lease_lost, refused_by_policy, too_large,
  /// artifact_mismatch, cancelled.
  [[nodiscard]] boost::asio::awaitable<Result<void>> upload(LiveLease lease, Digest digest,
                                                            std::string bytes, Duration limit);

  /// Writes the artifact to `file` (which must not exist), verified. `given_up`, asked on this
  /// link's thread: nobody needs it any more, so that it ends within 15 seconds (cancelled).
  /// Errors: as upload, io_error, disk_full.
  [[nodiscard]] boost::asio::awaitable<Result<void>> download(LiveLease lease, Digest digest,
                                                              std::uint64_t size_max,
                                                              std::string file, Duration limit,
                                                              std::function<bool()> given_up = {});
  void stop();

 public:
  /// Called on the bulk loop for every frame that is no message.
  void on_malformed(std::function<void()> counted) { on_malformed_ = std::move(counted); }

 private:
  struct Mailbox;
  class Registration;
  explicit BulkLink(boost::asio::io_context& io) : io_(io) {}
  void on_bytes(const std::string& bytes);
  void wake_all();
  [[nodiscard]] bool send(const BulkToCoordinator& message);

  boost::asio::io_context& io_;
  std::unique_ptr<net::Dealer> dealer_;
  std::map<std::uint64_t, Mailbox*> mailboxes_;
  std::uint64_t session_ = 0;
  std::uint64_t last_transfer_ = 0;
  std::function<void()> on_malformed_;
  bool stopped_ = false;
};

}  // namespace cupel::worker
