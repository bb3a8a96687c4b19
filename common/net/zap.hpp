/// Who may connect: libzmq asks this handler for every CURVE handshake of the process.
#pragma once

#include "common/core/error.hpp"
#include "common/net/trust_list.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace zmq {
class context_t;
class socket_t;
}  // namespace zmq

namespace cupel::net {

/// One per context; made before the first Router of it and destroyed after the last. Owns a thread
/// that sleeps until libzmq asks. All public functions may be called from any thread.
class ZapHandler {
 public:
  /// Errors: already_exists when the context has a handler, io_error.
  [[nodiscard]] static Result<std::unique_ptr<ZapHandler>> start(
      zmq::context_t& context, std::shared_ptr<const TrustList> list);
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;
  ~ZapHandler();

  /// From now on for new connections; Router drops what a removed key still sends.
  void replace(std::shared_ptr<const TrustList> list);
  [[nodiscard]] std::shared_ptr<const TrustList> list() const;

  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t denied() const { return denied_; }

  /// Proves at start that the door is shut: a random key must be denied by a socket with our own
  /// profile on loopback. Blocks for at most 5 s. Errors: not_trusted when the key was
  /// admitted, io_error when nothing was decided in time.
  [[nodiscard]] Result<void> self_test(const KeyPair& server);

 private:
  ZapHandler(zmq::context_t& context, std::shared_ptr<const TrustList> list);
  void serve();
  void answer(zmq::socket_t& socket);

  zmq::context_t& context_;
  std::unique_ptr<zmq::socket_t> requests_;
  std::unique_ptr<zmq::socket_t> stop_sender_;
  std::unique_ptr<zmq::socket_t> stop_receiver_;
  mutable std::mutex list_mutex_;
  std::shared_ptr<const TrustList> list_;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> denied_{0};
  std::thread thread_;
};

}  // namespace cupel::net
