/// A coordinator's socket and its workers in one process, for the tests of the links.
#pragma once

#include "common/net/dealer.hpp"
#include "common/net/router.hpp"
#include "common/net/zap.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <zmq.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cupel::net {

/// Runs handlers until the condition holds; false when it doesn't within ten seconds.
inline bool run_until(boost::asio::io_context& io, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    io.restart();
    io.run_one_for(std::chrono::milliseconds(50));
  }
  return true;
}

struct Received {
  Peer peer;
  std::string bytes;
};

class Fleet : public testing::Test {
 protected:
  struct Worker {
    KeyPair key = generate_key_pair();
    std::vector<std::string> received;
    std::vector<LinkState> states;
    std::unique_ptr<Dealer> dealer;
  };

  void SetUp() override {
    auto started = ZapHandler::start(context, std::make_shared<const TrustList>());
    ASSERT_TRUE(started) << started.error().text();
    zap = std::move(*started);
    open_router("tcp://127.0.0.1:*");
  }
  void TearDown() override {
    router.reset();
    zap.reset();
  }

  void open_router(const std::string& at, Plane plane = Plane::control) {
    RouterOptions options{.plane = plane, .endpoint = at, .key = server};
    auto bound = Router::bind(io, context, std::move(options), zap.get(),
                              [this](Peer peer, std::string bytes) {
                                received.push_back({std::move(peer), std::move(bytes)});
                              });
    ASSERT_TRUE(bound) << bound.error().text();
    router = std::move(*bound);
    endpoint = router->last_endpoint();
  }

  void trust(const std::vector<PublicKey>& keys) {
    auto list = std::make_shared<TrustList>();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(list->add(keys[i], {"worker-" + std::to_string(i), {}}));
    }
    zap->replace(std::move(list));
  }

  DealerOptions dealer_options(const Worker& worker) const {
    return {.endpoint = endpoint,
            .key = worker.key,
            .server = server.public_key,
            .retry_first = std::chrono::milliseconds(10),
            .retry_max = std::chrono::milliseconds(50),
            .reconnect_ms = 10,
            .random = [] { return std::uint64_t{7}; }};
  }
  void connect(Worker& worker, DealerOptions options) {
    auto connected = Dealer::connect(
        io, context, std::move(options),
        [&worker](std::string bytes) { worker.received.push_back(std::move(bytes)); },
        [&worker](LinkState state) { worker.states.push_back(state); });
    ASSERT_TRUE(connected) << connected.error().text();
    worker.dealer = std::move(*connected);
  }
  void connect(Worker& worker) { connect(worker, dealer_options(worker)); }

  bool until(const std::function<bool()>& condition) { return run_until(io, condition); }
  bool until_state(const Worker& worker, LinkState state) {
    return until([&] { return worker.dealer->state() == state; });
  }
  /// A trusted worker whose link is up.
  void join(Worker& worker) {
    trust({worker.key.public_key});
    connect(worker);
    ASSERT_TRUE(until_state(worker, LinkState::connected));
  }

  zmq::context_t context;
  boost::asio::io_context io{1};
  KeyPair server = generate_key_pair();
  std::unique_ptr<ZapHandler> zap;
  std::vector<Received> received;
  std::unique_ptr<Router> router;
  std::string endpoint;
};

}  // namespace cupel::net
