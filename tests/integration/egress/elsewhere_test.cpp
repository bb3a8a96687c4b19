// An engine that is not on the worker's host, as far as the network goes: the nearest thing to one
// in a virtual machine is one in a network namespace of its own.
#include "tests/integration/egress/egress_fixture.hpp"
#include "tests/integration/engines/own_engine.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <unistd.h>

namespace cupel::test {
namespace {

using ::testing::HasSubstr;
using worker::egress::Choice;
using worker::egress::Place;

class ElsewhereTest : public EgressFixture {
 public:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    auto started = OwnEngine::start("docker");
    ASSERT_TRUE(started) << started.error().text();
    own().emplace(*std::move(started));
  }
  static void TearDownTestSuite() { own().reset(); }

 protected:
  ElsewhereTest() : EgressFixture({.socket = own() ? own()->socket() : "/no/engine"}) {}

  static std::optional<OwnEngine>& own() {
    static std::optional<OwnEngine> engine;
    return engine;
  }

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root starts an engine of its own";
    ASSERT_TRUE(own());
    SandboxTest::SetUp();
  }
};

TEST_F(ElsewhereTest, AWorkerFindsByItselfThatExitContainersHoldWhatItsHostCannot) {
  gate_ = make_gate(Choice::enforced, Place::as_fits);
  const auto prepared = await(io, gate_->prepare());
  ASSERT_TRUE(prepared) << prepared.error().text();
  EXPECT_EQ(gate_->bridge().port, 0) << "no proxy at an address of this host";
  use(*gate_);

  const worker::RunReport report =
      run(acquire("ls /sys/class/net; wget -q -O - http://local-0.cupel.invalid/hello"));

  EXPECT_EQ(report.out.bytes, "lo\nhello from the proxy\n") << report.err.bytes;
  EXPECT_EQ(report.egress, "enforced");
  // What was tried first is not left on the engine.
  const auto network = await(io, engine->network_inspect(network_name()));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, Errc::not_found);
}

TEST_F(ElsewhereTest, AWorkerThatIsToHoldItItselfSaysWhatWould) {
  gate_ = make_gate(Choice::enforced, Place::worker);
  const auto prepared = await(io, gate_->prepare());

  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::unsafe_sandbox);
  EXPECT_THAT(prepared.error().text(), HasSubstr("egress_proxy: container"));
}

}  // namespace
}  // namespace cupel::test
