#include "common/net/socket_profile.hpp"

#include "common/core/limits.hpp"

#include <gtest/gtest.h>
#include <zmq.hpp>

namespace cupel::net {
namespace {

TEST(SocketProfile, OfARouterIsTakenByLibzmq) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);

  const auto applied =
      apply_router_profile(socket, {.plane = Plane::control, .key = generate_key_pair()});

  ASSERT_TRUE(applied) << applied.error().text();
  EXPECT_GT(socket.get(zmq::sockopt::maxmsgsize),
            static_cast<std::int64_t>(kControlMessageBytesMax));
  EXPECT_EQ(socket.get(zmq::sockopt::zap_domain), "cupel");
  EXPECT_EQ(socket.get(zmq::sockopt::curve_server), 1);
}

TEST(SocketProfile, OfTheBulkPlaneTakesLargerMessages) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);

  ASSERT_TRUE(apply_router_profile(socket, {.plane = Plane::bulk, .key = generate_key_pair()}));

  EXPECT_GT(socket.get(zmq::sockopt::maxmsgsize), static_cast<std::int64_t>(kBulkMessageBytesMax));
}

TEST(SocketProfile, OfADealerIsTakenByLibzmq) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  const KeyPair own = generate_key_pair();

  const auto applied =
      apply_dealer_profile(socket, {.plane = Plane::control,
                                    .key = own,
                                    .server = generate_key_pair().public_key,
                                    .routing_id = std::string("id\0with NUL", 11)});

  ASSERT_TRUE(applied) << applied.error().text();
  EXPECT_EQ(socket.get(zmq::sockopt::curve_publickey), own.public_key.z85());
  EXPECT_EQ(socket.get(zmq::sockopt::immediate), 1);
}

TEST(SocketProfile, NamesTheOptionThatLibzmqRefuses) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);

  // A DEALER has no ZMQ_ROUTER_MANDATORY.
  const auto applied = apply_router_profile(socket, {.key = generate_key_pair()});

  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Errc::bad_config);
  EXPECT_NE(applied.error().what.find("ZMQ_ROUTER_MANDATORY"), std::string::npos);
}

TEST(Endpoint, HasAHostAndAPort) {
  EXPECT_TRUE(check_endpoint("tcp://build.example.com:7401", EndpointUse::connect));
  EXPECT_TRUE(check_endpoint("tcp://[::1]:7401", EndpointUse::connect));
  EXPECT_TRUE(check_endpoint("tcp://0.0.0.0:0", EndpointUse::listen));
  EXPECT_TRUE(check_endpoint("tcp://*:*", EndpointUse::listen));
  EXPECT_TRUE(check_endpoint("ipc:///run/cupel/control", EndpointUse::connect));
  for (const std::string& endpoint :
       {std::string(), std::string("tcp://"), std::string("tcp://:7401"), std::string("tcp://host"),
        std::string("tcp://host:"), std::string("tcp://host:0"), std::string("tcp://host:*"),
        std::string("tcp://host:99999"), std::string("tcp://host:7x"), std::string("tcp://host:-1"),
        std::string("udp://host:7"), std::string("ipc://"), "ipc://" + std::string(108, 'p')}) {
    EXPECT_FALSE(check_endpoint(endpoint, EndpointUse::connect)) << endpoint;
  }
}

TEST(LocalEndpoint, IsIpcOrLoopback) {
  for (const char* endpoint : {"ipc:///run/cupel/control", "tcp://127.0.0.1:7401",
                               "tcp://127.8.9.10:0", "tcp://[::1]:7401", "tcp://localhost:7401"}) {
    EXPECT_TRUE(is_local_endpoint(endpoint)) << endpoint;
  }
}

TEST(LocalEndpoint, IsNothingElse) {
  for (const char* endpoint :
       {"", "tcp://", "tcp://0.0.0.0:7401", "tcp://*:7401", "tcp://10.0.0.1:7401",
        "tcp://127.0.0.1.example.com:7401", "tcp://localhost.example.com:7401", "tcp://eth0:7401",
        "tcp://127.0.0.1", "pgm://127.0.0.1:1", "tcp://[::]:7401"}) {
    EXPECT_FALSE(is_local_endpoint(endpoint)) << endpoint;
  }
}

}  // namespace
}  // namespace cupel::net
