#pragma once

#include "common/net/dealer.hpp"
#include "common/wire/codec.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cupel::coordinator {

/// A worker without an engine: speaks the real protocol over CURVE and answers leases from a
/// script. Keeps its results until they are acknowledged and says hello again after every
/// reconnect, as a real one does.
class ScriptedWorker {
 public:
  using Script = std::function<std::optional<TaskResult>(const Lease& lease)>;

  struct Settings {
    std::string control;
    std::string coordinator_key;
    net::KeyPair key;
    WorkerId id{77};
    std::uint32_t slots = 4;
    Script script;  ///< On the worker's thread; nothing = keep the lease and say nothing.
  };
  explicit ScriptedWorker(Settings settings);
  ~ScriptedWorker();
  ScriptedWorker(const ScriptedWorker&) = delete;
  ScriptedWorker& operator=(const ScriptedWorker&) = delete;

  void wait_for_state(net::LinkState state);
  void wait_until_welcome();
  void wait_for_leases(std::size_t count);
  void wait_for_cancels(std::size_t count);
  void wait_for_acks(std::size_t count);
  /// Answers a lease that the script kept.
  void answer(TaskResult result);
  /// Any bytes to the coordinator.
  void send_raw(std::string bytes);

  [[nodiscard]] std::vector<Lease> leases() const;
  [[nodiscard]] std::vector<ResultAck> acks() const;

 private:
  void received(const std::string& bytes);
  void hello();
  void beat();
  void deliver(const TaskResult& result);
  void wait(const std::function<bool()>& until);

  Settings settings_;
  boost::asio::io_context io_{1};
  zmq::context_t context_{1};
  boost::asio::steady_timer timer_{io_};
  std::unique_ptr<net::Dealer> dealer_;
  Incarnation incarnation_;
  std::uint64_t beat_ = 0;  ///< Over hellos and heartbeats; the loop's thread only.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<net::LinkState> states_;
  std::vector<Lease> leases_;
  std::vector<ResultAck> acks_;
  std::vector<LiveLease> running_;
  std::vector<TaskResult> outbox_;
  std::size_t cancels_ = 0;
  std::size_t welcomes_ = 0;
  bool in_session_ = false;
  std::thread thread_;
};

/// Answers like a worker on which everything passes: units `a` and `b` for a repository.
[[nodiscard]] std::optional<TaskResult> pass_everything(const Lease& lease);

}  // namespace cupel::coordinator
