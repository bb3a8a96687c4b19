// Faults of the wire below the messages, against the real daemon: strangers in numbers, handshakes
// that end anywhere, bytes that were sent before, peers that don't read. The daemon lives, an
// honest worker keeps its leases, and what happened is counted.
#include "tests/unit/coordinator_app/hostile_fixture.hpp"
#include "tests/unit/coordinator_app/tcp_relay.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace cupel::coordinator {
namespace {

/// Connections that are closed at the end.
class Strangers {
 public:
  ~Strangers() { leave(); }
  void come(std::uint16_t port, int count) {
    for (int i = 0; i < count; ++i) fds_.push_back(connect_loopback(port));
  }
  void leave() {
    for (const int fd : fds_) ::close(fd);
    fds_.clear();
  }

 private:
  std::vector<int> fds_;
};

void send_all(int fd, const std::string& bytes) {
  static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// AddressSanitizer holds back what was freed.
/// https://github.com/google/sanitizers/wiki/AddressSanitizerFlags (quarantine_size_mb)
#if __has_feature(address_sanitizer)
constexpr std::uint64_t kKeptFreedKib = 256 * 1024;
#else
constexpr std::uint64_t kKeptFreedKib = 0;
#endif

std::uint64_t resident_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  }
  return 0;
}

std::size_t open_descriptors(pid_t pid) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Until the condition holds; false when it doesn't within half a minute.
bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 600; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

/// The greeting of ZMTP 3.1 with the CURVE mechanism, as a client sends it.
std::string greeting() {
  std::string bytes("\xff\0\0\0\0\0\0\0\0\x7f\x03\x01", 12);
  std::string mechanism = "CURVE";
  mechanism.resize(20, '\0');
  return bytes + mechanism + std::string(32, '\0');
}

class WireHostilityTest : public HostileWorkerTest {
 protected:
  std::uint16_t port(const char* of) { return port_of(daemon_->ready()[of].get<std::string>()); }
  nlohmann::json through(const TcpRelay& relay) {
    nlohmann::json ready = daemon_->ready();
    ready["control"] = relay.endpoint();
    return ready;
  }
  double handshakes_failed() {
    return metric("cupel_bus_handshake_failures_total{plane=\"control\"}");
  }
};

TEST_F(WireHostilityTest, WithoutFreeDescriptorsOnlyStrangersAreTurnedAway) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  const rlimit few{.rlim_cur = open_descriptors(daemon_->pid()) + 20,
                   .rlim_max = open_descriptors(daemon_->pid()) + 20};
  ASSERT_EQ(::prlimit(daemon_->pid(), RLIMIT_NOFILE, &few, nullptr), 0);

  Strangers strangers;
  for (const char* plane : {"control", "bulk", "http"}) strangers.come(port(plane), 100);
  ASSERT_TRUE(soon([&] { return open_descriptors(daemon_->pid()) + 1 >= few.rlim_cur; }));
  // Longer than a lease lasts (2 s), so that it must have been renewed meanwhile.
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  strangers.leave();

  finish(campaign);  // each task in one attempt
  EXPECT_EQ(metric("cupel_leases_expired_total"), 0);
  EXPECT_LE(metric("process_open_fds"), metric("process_max_fds"));
}

TEST_F(WireHostilityTest, AHandshakeMayEndAtAnyByte) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  TcpRelay relay(port("control"));
  boost::asio::io_context io{1};
  ::zmq::context_t context{1};

  // Greeting 64, HELLO 202, INITIATE about 300, then the hello message.
  std::size_t rounds = 0;
  for (std::size_t bytes = 1; bytes < 700; bytes += 9, ++rounds) {
    relay.cut_after(bytes);
    net::DealerOptions options;
    options.endpoint = relay.endpoint();
    options.key = bad_key_;
    options.server = *net::PublicKey::from_z85(daemon_->ready()["public_key"].get<std::string>());
    options.reconnect_ms = 60'000;
    bool over = false;
    const std::size_t before = relay.cuts();
    auto dealer = net::Dealer::connect(
        io, context, options, [](const std::string&) {},
        [&](net::LinkState state) { over = over || state == net::LinkState::connected; });
    ASSERT_TRUE(dealer) << dealer.error().text();
    const std::string padding(600, 'x');
    ASSERT_TRUE(soon([&] {
      io.restart();
      io.run_for(std::chrono::milliseconds(5));
      if (over) static_cast<void>((*dealer)->send(padding));  // on to the cut
      return relay.cuts() > before;
    })) << bytes;
  }

  EXPECT_TRUE(soon([&] { return handshakes_failed() >= 60; })) << handshakes_failed();
  finish(campaign);
}

TEST_F(WireHostilityTest, ASessionThatIsPlayedAgainSaysNothing) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  TcpRelay relay(port("control"));
  auto recorded = std::make_unique<HostilePeer>(through(relay), bad_key_);
  static_cast<void>(recorded->join(0));
  recorded->tell(recorded->heartbeat({}, 0));
  static_cast<void>(recorded->await<HeartbeatAck>());
  const std::string session = relay.recorded();
  ASSERT_GT(session.size(), 500U);
  recorded.reset();
  const double hellos = metric("cupel_bus_messages_received_total{type=\"hello\"}");
  const double failed = handshakes_failed();

  constexpr int kTimes = 20;
  Strangers strangers;
  for (int i = 0; i < kTimes; ++i) {
    const int fd = connect_loopback(port("control"));
    ASSERT_GE(fd, 0);
    send_all(fd, session);
    ::close(fd);
  }
  // Once more with the server's answers awaited, so that a cookie of another connection is what it
  // judges.
  const int slow = connect_loopback(port("control"));
  send_all(slow, session.substr(0, 64));
  std::string answer(4096, '\0');
  ASSERT_GT(::recv(slow, answer.data(), answer.size(), 0), 0);
  send_all(slow, session.substr(64, 202));
  ASSERT_GT(::recv(slow, answer.data(), answer.size(), 0), 0);
  send_all(slow, session.substr(266));
  while (::recv(slow, answer.data(), answer.size(), 0) > 0) {
  }
  ::close(slow);

  EXPECT_TRUE(soon([&] { return handshakes_failed() >= failed + 1; }));
  EXPECT_EQ(metric("cupel_bus_messages_received_total{type=\"hello\"}"), hellos);
  finish(campaign);
}

TEST_F(WireHostilityTest, NoiseBehindAGreetingStopsNobody) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  const auto seed = static_cast<std::uint32_t>(fs::random_u64());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> heads = {
      greeting(),
      greeting() + std::string("\x04\xc8\x05HELLO", 8),
      greeting() +
          std::string("\x06\xff\xff\xff\xff\xff\xff\xff\xff", 9),  // 2^64-1 bytes announced
      greeting() + std::string("\x06\x80\0\0\0\0\0\0\0", 9),
      greeting() + std::string("\x04\0", 2),
      std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x01\x05", 12),  // the oldest protocol
      std::string("\x01\0", 2),
      "GET /metrics HTTP/1.1\r\nHost: example.com\r\n\r\n",
      "\x16\x03\x01\x02",  // TLS
      ""};

  for (int i = 0; i < 600; ++i) {
    const int fd = connect_loopback(port(i % 2 == 0 ? "control" : "bulk"));
    ASSERT_GE(fd, 0);
    std::string noise(random() % 2000, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    send_all(fd, heads[random() % heads.size()] + noise);
    ::close(fd);
  }

  EXPECT_TRUE(soon([&] { return handshakes_failed() >= 10; })) << handshakes_failed();
  EXPECT_LT(resident_kib(daemon_->pid()), 400U * 1024 + kKeptFreedKib);
  finish(campaign);
}

TEST_F(WireHostilityTest, WhoDoesNotReadIsNotWaitedFor) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  TcpRelay relay(port("control"));
  peer_ = std::make_unique<HostilePeer>(through(relay), bad_key_);
  static_cast<void>(peer_->join(0));
  const std::uint64_t before = resident_kib(daemon_->pid());

  relay.stall_answers();
  Heartbeat beat;
  beat.capacity.slots = 0;
  // Each is answered with a list of as many lost leases.
  for (std::uint64_t i = 0; i < 500; ++i) beat.renew.push_back({TaskId{i + 1}, Token{i + 1}});
  for (int second = 0; second < 4; ++second) {
    for (int i = 0; i < 100; ++i) {
      beat.beat = static_cast<std::uint64_t>(1000 + second * 100 + i);
      peer_->raw(net::Plane::control, wire::encode(ToCoordinator(beat)));
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  EXPECT_LT(resident_kib(daemon_->pid()), before + 64U * 1024 + kKeptFreedKib);
  finish(campaign);
  EXPECT_EQ(metric("cupel_leases_expired_total"), 0);
}

TEST_F(WireHostilityTest, InterruptedCallsLoseNoMessage) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  std::atomic<bool> over{false};
  // A hang-up reloads the trust list; the other one is ignored. Both interrupt what waits.
  std::thread storm([&] {
    for (int i = 0; i < 1500 && !over; ++i) {
      daemon_->signal(i % 2 == 0 ? SIGHUP : SIGCHLD);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });

  finish(campaign);
  over = true;
  storm.join();
  EXPECT_EQ(metric("cupel_bus_decode_failures_total{plane=\"control\"}"), 0);
  EXPECT_EQ(metric("cupel_bus_malformed_frames_total{plane=\"control\"}"), 0);
}

TEST_F(WireHostilityTest, AProcessThatAbortsLosesNoLease) {
  start();
  const std::string campaign = begin_with_an_honest_worker();
  const json before = daemon_->ready();

  daemon_->signal(SIGABRT);  // as an assertion inside of the transport ends it
  EXPECT_EQ(daemon_->wait_for_end(), -SIGABRT);
  EXPECT_TRUE(daemon_->wait_for_log("worker.joined")) << "what was said before is written";
  restart();

  finish(campaign);  // each task in one attempt: the leases of before
}

}  // namespace
}  // namespace cupel::coordinator
