#pragma once

#include "common/core/limits.hpp"
#include "common/net/dealer.hpp"
#include "common/wire/codec.hpp"

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace cupel::coordinator {

/// A peer with a trusted key that says what it is told to say, on both planes. It answers nothing
/// by itself.
class HostilePeer {
 public:
  /// `ready`: what the coordinator wrote into its ready file. Waits for both handshakes.
  HostilePeer(const nlohmann::json& ready, net::KeyPair key, WorkerId id = WorkerId{666});
  ~HostilePeer();
  HostilePeer(const HostilePeer&) = delete;
  HostilePeer& operator=(const HostilePeer&) = delete;

  void tell(const ToCoordinator& message) { raw(net::Plane::control, wire::encode(message)); }
  void tell(const BulkToCoordinator& message) { raw(net::Plane::bulk, wire::encode(message)); }
  /// As often as told, as fast as the socket takes it.
  void raw(net::Plane plane, const std::string& bytes, int times = 1);

  [[nodiscard]] Hello hello(std::uint32_t slots = 4);
  [[nodiscard]] Heartbeat heartbeat(std::vector<LiveLease> renew, std::uint32_t slots = 4);
  /// Says hello and waits for the welcome.
  Welcome join(std::uint32_t slots = 4);

  /// The next message of this kind; those before it are dropped. Throws after a minute.
  template <typename Message>
  Message await() {
    return await_in<Message>(control_in_);
  }
  template <typename Message>
  Message await_bulk() {
    return await_in<Message>(bulk_in_);
  }
  /// An upload from its beginning to the answer that ends it: PutDone (nothing) or the refusal.
  std::optional<BulkRefuse> put(std::uint64_t session, LiveLease lease, const Digest& digest,
                                const std::string& bytes);
  std::optional<BulkRefuse> get(std::uint64_t session, LiveLease lease, const Digest& digest);

 private:
  template <typename Message, typename Queue>
  Message await_in(Queue& queue) {
    std::optional<Message> found;
    wait([&] {
      while (!queue.empty() && !found) {
        if (auto* message = std::get_if<Message>(&queue.front())) found = std::move(*message);
        queue.pop_front();
      }
      return found.has_value();
    });
    return *std::move(found);
  }
  void wait(const std::function<bool()>& until);

  WorkerId id_;
  Incarnation incarnation_;
  std::uint64_t beat_ = 0;
  std::uint64_t transfer_ = 0;
  boost::asio::io_context io_{1};
  zmq::context_t context_{1};
  std::unique_ptr<net::Dealer> control_;
  std::unique_ptr<net::Dealer> bulk_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int connected_ = 0;
  std::deque<ToWorker> control_in_;
  std::deque<BulkToWorker> bulk_in_;
  std::thread thread_;
};

}  // namespace cupel::coordinator
