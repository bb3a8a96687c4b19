/// A worker that does nothing and says so at once, over the real wire. For benchmarks.
#pragma once

#include "common/net/dealer.hpp"
#include "common/wire/codec.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <zmq.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace cupel::bench {

class SimWorker {
 public:
  struct Hooks {
    std::function<void()> welcome;
    std::function<void(const Lease& lease)> leased;  ///< Before it is answered.
    std::function<void(const ResultAck& ack)> acknowledged;
  };
  SimWorker(std::string control, std::string coordinator_key, net::KeyPair key, std::uint32_t slots,
            Hooks hooks);
  ~SimWorker();
  SimWorker(const SimWorker&) = delete;
  SimWorker& operator=(const SimWorker&) = delete;

 private:
  void run();
  void received(const std::string& bytes);
  void beat();
  void send(const ToCoordinator& message);

  std::string control_;
  std::string coordinator_key_;
  net::KeyPair key_;
  std::uint32_t slots_;
  Hooks hooks_;
  boost::asio::io_context io_{1};
  ::zmq::context_t context_{1};
  boost::asio::steady_timer timer_{io_};
  std::unique_ptr<net::Dealer> dealer_;
  bool in_session_ = false;
  std::thread thread_;
};

}  // namespace cupel::bench
