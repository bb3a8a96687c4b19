/// Both planes to the coordinator that a worker speaks with, and the way to another one where that
/// one doesn't lead.
#pragma once

#include "common/core/error.hpp"
#include "common/core/message.hpp"
#include "common/net/curve_keys.hpp"
#include "common/net/dealer.hpp"
#include "worker/app/link_log.hpp"
#include "worker/app/loop.hpp"
#include "worker/app/options.hpp"
#include "worker/core/agent/coordinators.hpp"
#include "worker/zmq/bulk_link.hpp"

#include <zmq.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace cupel::worker {

/// Belongs to the control loop; the bulk plane's end lives on the bulk loop.
class CoordinatorLink {
 public:
  struct Callbacks {
    std::function<void(ToWorker)> message;
    std::function<void(net::LinkState)> state;
    /// A frame is no message. Any of the two loops.
    std::function<void(const char* plane)> malformed;
  };

  /// The context outlives the loops, which may hold the last of a socket.
  CoordinatorLink(zmq::context_t& context, Loop& control, Loop& bulk, const Options& options,
                  Callbacks callbacks);

  /// Reads the keys; nothing is connected yet. Errors: bad_config, and those of a key file.
  [[nodiscard]] Result<void> read_keys();
  /// Before the loops run. Errors: bad_config.
  [[nodiscard]] Result<void> connect();

  void send(std::string_view bytes);
  /// At least every 200 ms. True: it has another connection, perhaps to another coordinator, and no
  /// session there yet.
  [[nodiscard]] bool tick(bool in_session);
  /// The session of the control plane; 0 = none.
  void set_session(std::uint64_t session);
  [[nodiscard]] BulkLink& bulk() { return *bulk_link_; }

  /// On the bulk loop, before it ends.
  void stop_bulk() { bulk_link_->stop(); }
  /// After both loops have ended.
  void close();

 private:
  [[nodiscard]] net::DealerOptions options_of(net::Plane plane) const;
  [[nodiscard]] Result<void> connect_control();
  void received(const std::string& bytes);

  zmq::context_t& context_;
  Loop& control_;
  Loop& bulk_;
  const Options& options_;
  Callbacks callbacks_;
  net::KeyPair key_;
  std::vector<net::PublicKey> servers_;  ///< As Options::coordinators.
  std::optional<Coordinators> coordinators_;
  std::unique_ptr<net::Dealer> dealer_;
  std::unique_ptr<BulkLink> bulk_link_;
  std::optional<LinkLog> log_;
  TimePoint lost_;
};

}  // namespace cupel::worker
