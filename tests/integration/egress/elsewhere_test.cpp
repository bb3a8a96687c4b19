// An engine that is not on the worker's host, as far as the network goes: the nearest thing to one
// in a virtual machine is one in a network namespace of its own.
#include "tests/integration/egress/egress_fixture.hpp"
#include "tests/integration/engines/own_engine.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <unistd.h>

namespace cupel::test {
namespace {

using ::testing::HasSubstr;
using worker::egress::Choice;
using worker::egress::Place;

class ElsewhereTest : public EgressFixture, public ::testing::WithParamInterface<const char*> {
 public:
  static void TearDownTestSuite() { engines().clear(); }

 protected:
  ElsewhereTest() : EgressFixture({.socket = socket_of(GetParam())}) {}

  static std::map<std::string, OwnEngine>& engines() {
    static std::map<std::string, OwnEngine> all;
    return all;
  }

  /// Started for the first test that wants it; empty where it doesn't start.
  static std::string socket_of(const std::string& kind) {
    const auto known = engines().find(kind);
    if (known != engines().end()) return known->second.socket();
    auto started = ::geteuid() == 0 ? OwnEngine::start(kind) : Result<OwnEngine>(Error{});
    if (!started) return "/no/engine";
    return engines().emplace(kind, *std::move(started)).first->second.socket();
  }

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root starts an engine of its own";
    if (!engines().contains(GetParam()) && std::string(GetParam()) != "docker")
      GTEST_SKIP() << "no " << GetParam() << " here; ops/test installs it";
    ASSERT_TRUE(engines().contains(GetParam())) << "no dockerd of our own";
    SandboxTest::SetUp();
  }
};

TEST_P(ElsewhereTest, AWorkerFindsByItselfThatExitContainersHoldWhatItsHostCannot) {
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

TEST_P(ElsewhereTest, AWorkerThatIsToHoldItItselfSaysWhatWould) {
  gate_ = make_gate(Choice::enforced, Place::worker);
  const auto prepared = await(io, gate_->prepare());

  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::unsafe_sandbox);
  EXPECT_THAT(prepared.error().text(), HasSubstr("egress_proxy"));
}

INSTANTIATE_TEST_SUITE_P(Engines, ElsewhereTest, ::testing::Values("docker", "podman"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace cupel::test
