// Router and Dealer over real sockets: what arrives, what is lost, and who notices.
#include "common/core/limits.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/common_net/fleet.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace cupel::net {
namespace {

class Link : public Fleet {};

TEST_F(Link, CarriesMessagesBothWays) {
  Worker worker;
  join(worker);

  EXPECT_EQ(worker.dealer->send("hello"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  EXPECT_EQ(received[0].bytes, "hello");
  EXPECT_EQ(received[0].peer.key, worker.key.public_key);
  EXPECT_EQ(router->send(received[0].peer, "welcome"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return worker.received.size() == 1; }));

  EXPECT_EQ(worker.received[0], "welcome");
  EXPECT_EQ(router->counters().received, 1U);
  EXPECT_EQ(router->counters().sent_bytes, 7U);
  EXPECT_EQ(router->counters().connected, 1U);
  EXPECT_EQ(zap->accepted(), 1U);
}

TEST_F(Link, CarriesEmptyAndBinaryMessages) {
  Worker worker;
  join(worker);
  const std::string binary("\0\xFF\n\0", 4);

  EXPECT_EQ(worker.dealer->send(""), SendStatus::sent);
  EXPECT_EQ(worker.dealer->send(binary), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 2; }));

  EXPECT_EQ(received[0].bytes, "");
  EXPECT_EQ(received[1].bytes, binary);
}

TEST_F(Link, LosesNoMessageAndNoWakeUpOfMany) {
  Worker worker;
  join(worker);
  constexpr std::size_t kMessages = 20'000;
  std::size_t sent = 0;
  std::size_t echoed = 0;

  // Both sides send as much as is taken; every wait is for the descriptor alone.
  ASSERT_TRUE(until([&] {
    while (sent < kMessages && sent < worker.received.size() + 500 &&
           worker.dealer->send(std::to_string(sent)) == SendStatus::sent) {
      ++sent;
    }
    while (echoed < received.size() &&
           router->send(received[echoed].peer, received[echoed].bytes) == SendStatus::sent) {
      ++echoed;
    }
    return worker.received.size() == kMessages;
  })) << sent
      << " sent, " << echoed << " echoed, " << worker.received.size() << " came back";

  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(worker.received[i], std::to_string(i));
}

TEST_F(Link, RefusesToSendWhatThePlaneForbids) {
  Worker worker;
  join(worker);
  ASSERT_EQ(worker.dealer->send("x"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  const std::string large(kControlMessageBytesMax + 1, 'x');

  EXPECT_EQ(worker.dealer->send(large), SendStatus::too_large);
  EXPECT_EQ(router->send(received[0].peer, large), SendStatus::too_large);
  EXPECT_EQ(worker.dealer->send(large.substr(1)), SendStatus::sent);
  EXPECT_TRUE(until([&] { return received.size() == 2; }));
}

TEST_F(Link, ClosesOnlyTheConnectionThatSendsTooMuch) {
  Worker honest;
  Worker other;
  trust({honest.key.public_key, other.key.public_key});
  connect(honest);
  ASSERT_TRUE(until_state(honest, LinkState::connected));
  zmq::socket_t rude(context, zmq::socket_type::dealer);
  ASSERT_TRUE(apply_dealer_profile(
      rude, {.plane = Plane::control, .key = other.key, .server = server.public_key}));
  rude.set(zmq::sockopt::linger, 0);
  rude.set(zmq::sockopt::immediate, 0);
  rude.connect(endpoint);
  rude.send(zmq::buffer(std::string(2 * kControlMessageBytesMax, 'x')), zmq::send_flags::none);

  ASSERT_TRUE(until([&] { return router->counters().disconnected >= 1; }));

  EXPECT_EQ(honest.dealer->send("still here"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return !received.empty(); }));
  EXPECT_EQ(received[0].bytes, "still here");
  EXPECT_EQ(honest.dealer->state(), LinkState::connected);
}

TEST_F(Link, DropsMessagesOfMoreFrames) {
  Worker worker;
  trust({worker.key.public_key});
  zmq::socket_t raw(context, zmq::socket_type::dealer);
  ASSERT_TRUE(apply_dealer_profile(
      raw, {.plane = Plane::control, .key = worker.key, .server = server.public_key}));
  raw.set(zmq::sockopt::linger, 0);
  raw.set(zmq::sockopt::immediate, 0);
  raw.connect(endpoint);
  raw.send(zmq::str_buffer("one"), zmq::send_flags::sndmore);
  raw.send(zmq::str_buffer("two"), zmq::send_flags::sndmore);
  raw.send(zmq::str_buffer("three"), zmq::send_flags::none);
  raw.send(zmq::str_buffer("single"), zmq::send_flags::none);

  ASSERT_TRUE(until([&] { return !received.empty(); }));

  EXPECT_EQ(received[0].bytes, "single");
  EXPECT_EQ(router->counters().dropped_malformed, 1U);
}

TEST_F(Link, SurvivesNoiseOnItsPort) {
  namespace asio = boost::asio;
  const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
  asio::ip::tcp::socket noise(io);
  noise.connect({asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(std::stoi(port))});
  asio::write(noise, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n") +
                                  std::string(300, '\xFF')));
  ASSERT_TRUE(until([&] { return router->counters().disconnected >= 1; }));

  Worker worker;
  join(worker);
}

TEST_F(Link, KeepsTryingWhereSomethingElseListens) {
  namespace asio = boost::asio;
  asio::ip::tcp::acceptor other(io, {asio::ip::make_address("127.0.0.1"), 0});
  std::size_t accepted = 0;
  std::function<void()> accept = [&] {
    other.async_accept([&](const boost::system::error_code& error, asio::ip::tcp::socket peer) {
      if (error) return;
      ++accepted;
      boost::system::error_code ignored;
      asio::write(peer, asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")), ignored);
      accept();
    });
  };
  accept();
  Worker worker;
  DealerOptions options = dealer_options(worker);
  options.endpoint = "tcp://127.0.0.1:" + std::to_string(other.local_endpoint().port());
  connect(worker, options);

  ASSERT_TRUE(until_state(worker, LinkState::handshake_failed));
  EXPECT_TRUE(until([&] { return accepted >= 3; }));
  worker.dealer.reset();
  other.close();
}

TEST_F(Link, SaysThatAPeerIsUnreachable) {
  Worker worker;
  join(worker);
  ASSERT_EQ(worker.dealer->send("x"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  worker.dealer.reset();

  EXPECT_TRUE(
      until([&] { return router->send(received[0].peer, "lost") == SendStatus::unreachable; }));
  EXPECT_GE(router->counters().send_unreachable, 1U);
}

TEST_F(Link, SaysThatAPeerReadsTooSlowly) {
  Worker worker;
  join(worker);
  ASSERT_EQ(worker.dealer->send("x"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  const std::string bytes(16 * 1024, 'x');

  // Nobody runs the io_context meanwhile, so the worker reads nothing.
  SendStatus status = SendStatus::sent;
  for (int i = 0; i < 10'000 && status == SendStatus::sent; ++i) {
    status = router->send(received[0].peer, bytes);
  }

  EXPECT_EQ(status, SendStatus::full);
  EXPECT_EQ(router->counters().send_full, 1U);
}

TEST_F(Link, ComesBackAfterARestartOfTheCoordinator) {
  Worker worker;
  join(worker);
  router.reset();
  ASSERT_TRUE(until_state(worker, LinkState::disconnected));
  EXPECT_EQ(worker.dealer->send("nobody"), SendStatus::unreachable);

  // The old socket closes in the background.
  ASSERT_TRUE(until([&] {
    auto bound = Router::bind(io, context, {.endpoint = endpoint, .key = server}, zap.get(),
                              [this](Peer peer, std::string bytes) {
                                received.push_back({std::move(peer), std::move(bytes)});
                              });
    if (bound) router = std::move(*bound);
    return bound.has_value();
  }));

  ASSERT_TRUE(until_state(worker, LinkState::connected));
  EXPECT_EQ(worker.dealer->send("again"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return !received.empty(); }));
  EXPECT_EQ(worker.states,
            (std::vector{LinkState::connected, LinkState::disconnected, LinkState::connected}));
}

TEST_F(Link, HasAnotherAddressAfterEachConnection) {
  Worker worker;
  join(worker);
  ASSERT_EQ(worker.dealer->send("first"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));

  worker.dealer->reconnect();
  EXPECT_NE(worker.dealer->state(), LinkState::connected);
  ASSERT_TRUE(until_state(worker, LinkState::connected));
  ASSERT_EQ(worker.dealer->send("second"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 2; }));

  EXPECT_NE(received[0].peer.routing_id, received[1].peer.routing_id);
  EXPECT_EQ(received[0].peer.key, received[1].peer.key);
}

TEST_F(Link, MayBeStoppedOrDestroyedInItsOwnCallbacks) {
  Worker worker;
  trust({worker.key.public_key});
  bool gone = false;
  auto connected = Dealer::connect(
      io, context, dealer_options(worker),
      [&](std::string) {
        worker.dealer.reset();
        gone = true;
      },
      [&](LinkState state) {
        if (state == LinkState::connected) EXPECT_EQ(worker.dealer->send("x"), SendStatus::sent);
      });
  ASSERT_TRUE(connected);
  worker.dealer = std::move(*connected);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(router->send(received[0].peer, "y"), SendStatus::sent);

  EXPECT_TRUE(until([&] { return gone; }));
  EXPECT_TRUE(until([&] { return router->counters().disconnected == 1; }));
}

TEST_F(Link, CallsNothingAfterItWasStopped) {
  Worker worker;
  join(worker);
  ASSERT_EQ(worker.dealer->send("x"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return received.size() == 1; }));
  const std::size_t states = worker.states.size();

  worker.dealer->stop();
  worker.dealer->stop();
  static_cast<void>(router->send(received[0].peer, "late"));
  ASSERT_TRUE(until([&] { return router->counters().disconnected == 1; }));

  EXPECT_TRUE(worker.received.empty());
  EXPECT_EQ(worker.states.size(), states);
  EXPECT_EQ(worker.dealer->send("late"), SendStatus::unreachable);
}

TEST_F(Link, IsPlainOnlyWhereThatIsSafeAndWanted) {
  const auto nothing = [](Peer, std::string) {};
  const auto bind = [&](std::string at, bool allow) {
    return Router::bind(io, context, {.endpoint = std::move(at), .allow_plain = allow}, nullptr,
                        nothing);
  };
  EXPECT_EQ(bind("tcp://127.0.0.1:*", false).error().code, Errc::bad_config);
  EXPECT_EQ(bind("tcp://0.0.0.0:*", true).error().code, Errc::bad_config);
  EXPECT_EQ(bind("tcp://*:*", true).error().code, Errc::bad_config);
  EXPECT_TRUE(bind("tcp://127.0.0.1:*", true));

  const auto connect_plain = [&](std::string at, bool allow) {
    return Dealer::connect(
        io, context, {.endpoint = std::move(at), .allow_plain = allow}, [](std::string) {},
        nullptr);
  };
  EXPECT_EQ(connect_plain("tcp://127.0.0.1:9", false).error().code, Errc::bad_config);
  EXPECT_EQ(connect_plain("tcp://192.0.2.1:9", true).error().code, Errc::bad_config);
}

TEST_F(Link, WorksPlainOverIpc) {
  const tests::TempDir dir;
  const std::string at = "ipc://" + (dir / "socket").string();
  std::vector<Received> plain_received;
  auto plain = Router::bind(io, context, {.endpoint = at, .allow_plain = true}, nullptr,
                            [&](Peer peer, std::string bytes) {
                              plain_received.push_back({std::move(peer), std::move(bytes)});
                            });
  ASSERT_TRUE(plain) << plain.error().text();
  Worker worker;
  connect(worker, {.endpoint = at, .allow_plain = true});
  ASSERT_TRUE(until_state(worker, LinkState::connected));

  EXPECT_EQ(worker.dealer->send("plain"), SendStatus::sent);
  ASSERT_TRUE(until([&] { return plain_received.size() == 1; }));
  EXPECT_TRUE(plain_received[0].peer.key.empty());
  EXPECT_EQ((*plain)->send(plain_received[0].peer, "back"), SendStatus::sent);
  EXPECT_TRUE(until([&] { return worker.received.size() == 1; }));
}

TEST_F(Link, NamesWhatIsWrongWithAnAddress) {
  const auto nothing = [](Peer, std::string) {};
  const auto bind = [&](std::string at) {
    return Router::bind(io, context, {.endpoint = std::move(at), .key = server}, zap.get(),
                        nothing);
  };
  EXPECT_EQ(bind(endpoint).error().code, Errc::already_exists);
  EXPECT_EQ(bind("nonsense").error().code, Errc::bad_config);
  EXPECT_EQ(bind("tcp://127.0.0.1:99999").error().code, Errc::bad_config);
  EXPECT_EQ(bind("tcp://192.0.2.1:7401").error().code, Errc::bad_config);
  EXPECT_EQ(Dealer::connect(
                io, context, {.endpoint = "tcp://127.0.0.1:0", .allow_plain = true},
                [](std::string) {}, nullptr)
                .error()
                .code,
            Errc::bad_config);
}

// A coordinator with 100,000 queued tasks was ready again after 48 s on a busy machine, and the
// first worker came 22 s later: libzmq had doubled its pause to half a minute.
TEST(DealerOptions, LetNoWorkerSleepThroughTheReturnOfItsCoordinator) {
  constexpr std::uint32_t kStandbyMs = 15'000;

  EXPECT_LE(2 * DealerOptions{}.reconnect_max_ms, kStandbyMs);
}

}  // namespace
}  // namespace cupel::net
