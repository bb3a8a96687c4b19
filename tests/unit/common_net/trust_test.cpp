// Who is let in, who is cut off, and by what a peer is known.
#include "tests/unit/common_net/fleet.hpp"

#include <chrono>
#include <optional>

namespace cupel::net {
namespace {

class Trust : public Fleet {
 protected:
  zmq::socket_t raw_dealer(const KeyPair& key, const std::string& routing_id) {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    EXPECT_TRUE(apply_dealer_profile(socket, {.plane = Plane::control,
                                              .key = key,
                                              .server = server.public_key,
                                              .routing_id = routing_id}));
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::immediate, 0);
    socket.connect(endpoint);
    return socket;
  }
};

TEST_F(Trust, DeniesAnUnknownKey) {
  Worker stranger;
  connect(stranger);

  ASSERT_TRUE(until_state(stranger, LinkState::auth_failed));

  EXPECT_EQ(stranger.dealer->send("let me in"), SendStatus::unreachable);
  EXPECT_GE(zap->denied(), 1U);
  EXPECT_EQ(zap->accepted(), 0U);
  EXPECT_TRUE(until([&] { return router->counters().handshake_denied >= 1; }));
  EXPECT_TRUE(received.empty());
}

TEST_F(Trust, TriesAgainWithANewSocketAfterADenial) {
  Worker stranger;
  connect(stranger);

  EXPECT_TRUE(until([&] { return stranger.dealer->counters().recreated >= 3; }));
  EXPECT_GE(stranger.dealer->counters().auth_failed, 3U);
}

TEST_F(Trust, IsReloadedWithoutARestart) {
  Worker worker;
  connect(worker);
  ASSERT_TRUE(until_state(worker, LinkState::auth_failed));

  trust({worker.key.public_key});

  ASSERT_TRUE(until_state(worker, LinkState::connected));
  EXPECT_EQ(worker.dealer->send("at last"), SendStatus::sent);
  EXPECT_TRUE(until([&] { return received.size() == 1; }));
}

TEST_F(Trust, CutsALiveConnectionWhenItsKeyIsRevoked) {
  Worker revoked;
  Worker other;
  trust({revoked.key.public_key, other.key.public_key});
  connect(revoked);
  connect(other);
  ASSERT_TRUE(until_state(revoked, LinkState::connected));
  ASSERT_TRUE(until_state(other, LinkState::connected));
  ASSERT_EQ(revoked.dealer->send("before"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));

  trust({other.key.public_key});
  ASSERT_EQ(revoked.dealer->send("after"), SendStatus::sent) << "the connection itself stays up";
  ASSERT_TRUE(until([&] { return router->counters().dropped_untrusted == 1; }));

  EXPECT_EQ(received.size(), 1U);
  EXPECT_EQ(router->send(received[0].peer, "lease"), SendStatus::not_trusted);
  EXPECT_EQ(other.dealer->send("unaffected"), SendStatus::sent);
  EXPECT_TRUE(until([&] { return received.size() == 2; }));
}

TEST_F(Trust, KnowsAPeerByItsKeyNotByTheNameItGivesItself) {
  Worker honest;
  Worker liar;
  trust({honest.key.public_key, liar.key.public_key});
  auto first = raw_dealer(honest.key, "worker-one");
  first.send(zmq::str_buffer("truth"), zmq::send_flags::none);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  first.close();
  ASSERT_TRUE(until([&] { return router->counters().disconnected == 1; }));
  // The monitor tells of the end before the router has let go of the name, and who comes in between is never heard (no
  // handover): as a real worker does, come again until the name is free.
  std::optional<zmq::socket_t> second;
  auto came_again = std::chrono::steady_clock::time_point::min();
  ASSERT_TRUE(until([&] {
    if (received.size() == 2) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now > came_again + std::chrono::seconds(1)) {
      came_again = now;
      second.emplace(raw_dealer(liar.key, "worker-one"));
      second->send(zmq::str_buffer("lie"), zmq::send_flags::none);
    }
    return false;
  }));

  EXPECT_EQ(received[1].peer.routing_id, received[0].peer.routing_id);
  EXPECT_EQ(received[0].peer.key, honest.key.public_key);
  EXPECT_EQ(received[1].peer.key, liar.key.public_key);
}

TEST_F(Trust, KeepsAnAddressWithWhoHasIt) {
  Worker honest;
  Worker thief;
  trust({honest.key.public_key, thief.key.public_key});
  auto first = raw_dealer(honest.key, "taken");
  first.send(zmq::str_buffer("mine"), zmq::send_flags::none);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  auto second = raw_dealer(thief.key, "taken");
  second.send(zmq::str_buffer("mine too"), zmq::send_flags::none);
  ASSERT_TRUE(until([&] { return router->counters().connected == 2; }));

  EXPECT_EQ(router->send(received[0].peer, "secret"), SendStatus::sent);
  zmq::message_t got;
  first.set(zmq::sockopt::rcvtimeo, 5000);
  ASSERT_TRUE(first.recv(got));

  EXPECT_EQ(got.to_string(), "secret");
  EXPECT_FALSE(second.recv(got, zmq::recv_flags::dontwait));
}

TEST_F(Trust, FailsWithTheKeyOfAnotherCoordinator) {
  Worker worker;
  trust({worker.key.public_key});
  DealerOptions options = dealer_options(worker);
  options.server = generate_key_pair().public_key;
  connect(worker, options);

  ASSERT_TRUE(until_state(worker, LinkState::handshake_failed));
  EXPECT_TRUE(until([&] { return worker.dealer->counters().recreated >= 2; })) << "it keeps trying";
  EXPECT_EQ(worker.dealer->counters().connected, 0U);
}

TEST_F(Trust, FailsForAPlainPeer) {
  Worker worker;
  connect(worker, {.endpoint = endpoint,
                   .allow_plain = true,
                   .retry_first = std::chrono::milliseconds(10),
                   .random = [] { return std::uint64_t{7}; }});

  EXPECT_TRUE(until([&] { return router->counters().handshake_failed >= 1; }));
  EXPECT_EQ(worker.dealer->counters().connected, 0U);
}

TEST_F(Trust, IsProvenByTheSelfTest) {
  const auto tested = zap->self_test(server);

  EXPECT_TRUE(tested) << tested.error().text();
  EXPECT_EQ(zap->denied(), 1U);
}

TEST_F(Trust, HasOneHandlerInAContext) {
  const auto second = ZapHandler::start(context, std::make_shared<const TrustList>());

  EXPECT_EQ(second.error().code, Errc::already_exists);
}

TEST_F(Trust, LetsNobodyInWithoutAHandler) {
  router.reset();
  zap.reset();
  zmq::socket_t bare(context, zmq::socket_type::router);
  ASSERT_TRUE(apply_router_profile(bare, {.key = server}));
  bare.set(zmq::sockopt::linger, 0);
  bare.bind("tcp://127.0.0.1:*");
  endpoint = bare.get(zmq::sockopt::last_endpoint);
  Worker worker;
  connect(worker);

  EXPECT_TRUE(until([&] { return worker.dealer->counters().recreated >= 1; }));
  EXPECT_EQ(worker.dealer->counters().connected, 0U);
}

}  // namespace
}  // namespace cupel::net
