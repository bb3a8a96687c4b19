#pragma once

#include "common/net/router.hpp"
#include "common/net/zap.hpp"
#include "common/wire/codec.hpp"

#include <boost/asio/io_context.hpp>
#include <zmq.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace cupel::test {

/// Welcomes a worker and keeps its leases alive; everything else is what the test says.
class FakeCoordinator {
 public:
  explicit FakeCoordinator(const net::PublicKey& worker);
  ~FakeCoordinator();
  FakeCoordinator(const FakeCoordinator&) = delete;
  FakeCoordinator& operator=(const FakeCoordinator&) = delete;

  [[nodiscard]] std::string control() const { return control_endpoint_; }
  [[nodiscard]] std::string bulk() const { return bulk_endpoint_; }
  [[nodiscard]] const net::PublicKey& key() const { return pair_.public_key; }
  /// Before the worker connects: what the next welcomes look like.
  void change_welcome(std::function<void(Welcome&)> change);
  /// What a transfer is answered with, message by message; nothing = silence. On the loop's thread.
  void answer_bulk(std::function<std::vector<BulkToWorker>(const BulkToCoordinator&)> answer);

  void tell(ToWorker message);
  void raw(std::string bytes);
  void raw_bulk(std::string bytes);
  /// Leases it with a new token and the newest beat.
  LiveLease lease(TaskSpec spec);
  /// Its lease as bytes, not sent.
  [[nodiscard]] std::string lease_bytes(TaskSpec spec);
  /// The answer of a lease; acknowledged. Throws after a minute.
  TaskResult result_of(const LiveLease& lease);
  [[nodiscard]] std::size_t results() const;
  /// Waits for a heartbeat that says so.
  Heartbeat wait_for_heartbeat(const std::function<bool(const Heartbeat&)>& so);

 private:
  void on_control(net::Peer peer, const std::string& bytes);
  void on_bulk(const net::Peer& peer, const std::string& bytes);
  void wait(const std::function<bool()>& until);
  void post(std::function<void()> work);

  const net::KeyPair pair_ = net::generate_key_pair();
  boost::asio::io_context io_{1};
  zmq::context_t context_{1};
  std::unique_ptr<net::ZapHandler> zap_;
  std::unique_ptr<net::Router> control_;
  std::unique_ptr<net::Router> bulk_;
  std::string control_endpoint_;
  std::string bulk_endpoint_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<net::Peer> peer_;
  std::optional<net::Peer> bulk_peer_;
  std::uint64_t beat_ = 0;
  std::uint64_t last_token_ = 100;
  std::deque<Heartbeat> heartbeats_;
  std::map<Token, TaskResult> results_;
  std::function<void(Welcome&)> change_;
  std::function<std::vector<BulkToWorker>(const BulkToCoordinator&)> answer_bulk_;
  std::thread thread_;
};

}  // namespace cupel::test
