// A fleet is upgraded one program at a time: workers whose range of protocols begins below or ends
// above the coordinator's, against the real daemon. (A worker that meets a coordinator of another
// protocol is tests/integration/hostile_coordinator's; recorded messages are common_wire's.)
#include "common/core/limits.hpp"
#include "tests/unit/coordinator_app/daemon_fixture.hpp"
#include "tests/unit/coordinator_app/hostile_peer.hpp"

namespace cupel::coordinator {
namespace {

class UpgradeTest : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    trust(key_, "upgraded");
    start();
    peer_ = std::make_unique<HostilePeer>(daemon_->ready(), key_);
  }
  void TearDown() override {
    peer_.reset();
    DaemonTest::TearDown();
  }
  void tell(const ToCoordinator& message) {
    std::string bytes = wire::encode(message);
    // The envelope begins with the protocol of the writer, behind the table and the root's pointer.
    constexpr std::size_t kProtocolAt = 16;
    ASSERT_EQ(bytes.at(kProtocolAt), static_cast<char>(kProtocolVersionMax));
    bytes.at(kProtocolAt) = static_cast<char>(written_in_);
    peer_->raw(net::Plane::control, bytes);
  }
  void say_hello(std::uint32_t protocol_min, std::uint32_t protocol_max) {
    Hello hello = peer_->hello();
    hello.protocol_min = protocol_min;
    hello.protocol_max = protocol_max;
    tell(hello);
  }
  /// One task from its lease to its acknowledgement.
  void expect_to_work(const Welcome& welcome) {
    const std::string campaign =
        submit(R"({"apiVersion":"cupel/v1","kind":"Campaign","name":"one",)"
               R"("repositories":[{"module":"example.com/one@v1.0.0"}]})");
    tell(peer_->heartbeat({}));
    const Lease lease = peer_->await<Lease>();
    TaskResult result;
    result.task = lease.spec.id;
    result.token = lease.token;
    result.outcome = cupel::Outcome::refused;
    result.reason = Reason::repository_not_found;
    tell(ResultMessage{result});
    EXPECT_TRUE(peer_->await<ResultAck>().accepted);
    EXPECT_EQ(events_until_end(campaign).back()["type"], "campaign.finished");
    EXPECT_NE(welcome.session, 0U);
  }
  void expect_to_be_refused(const std::string& words) {
    const auto refuse = peer_->await<Refuse>();
    EXPECT_EQ(refuse.code, Errc::protocol_mismatch);
    EXPECT_EQ(refuse.text, words);
    EXPECT_EQ(refuse.retry_after_ms, 0U) << "trying again can't help";
    EXPECT_EQ(metric("cupel_sessions_total{result=\"version\"}"), 1);
    EXPECT_TRUE(get("/api/v1/workers")["workers"].empty());
  }
  const std::string range_ =
      std::to_string(kProtocolVersionMin) + " to " + std::to_string(kProtocolVersionMax);
  std::unique_ptr<HostilePeer> peer_;
  std::uint32_t written_in_ = kProtocolVersionMax;
};

TEST_F(UpgradeTest, AWorkerThatBeganOneVersionEarlierWorks) {
  say_hello(kProtocolVersionMin - 1, kProtocolVersionMin);
  const auto welcome = peer_->await<Welcome>();

  EXPECT_EQ(welcome.protocol, kProtocolVersionMin);
  expect_to_work(welcome);
}

TEST_F(UpgradeTest, AWorkerThatIsOneVersionAheadWorksWithTheCoordinatorsOwn) {
  written_in_ = kProtocolVersionMax + 1;
  say_hello(kProtocolVersionMin, kProtocolVersionMax + 1);
  const auto welcome = peer_->await<Welcome>();

  EXPECT_EQ(welcome.protocol, kProtocolVersionMax);
  expect_to_work(welcome);
}

TEST_F(UpgradeTest, AWorkerThatIsTooOldIsRefusedWithTheRangeThatIsSpoken) {
  say_hello(kProtocolVersionMin - 1, kProtocolVersionMin - 1);

  expect_to_be_refused("the coordinator speaks protocol " + range_);
}

TEST_F(UpgradeTest, AWorkerThatIsTooNewIsRefusedWithTheRangeThatIsSpoken) {
  written_in_ = kProtocolVersionMax + 2;
  say_hello(kProtocolVersionMax + 1, kProtocolVersionMax + 2);

  expect_to_be_refused("the coordinator speaks protocol " + range_);
}

}  // namespace
}  // namespace cupel::coordinator
