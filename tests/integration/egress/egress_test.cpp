// Runs with a network on the real engine: what they must reach, and everything that they must not.
#include "tests/integration/egress/egress_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace cupel::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using worker::egress::Choice;
using worker::egress::Place;

class EgressTest : public EgressFixture {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root makes rules of the host's packet filter";
    SandboxTest::SetUp();
    gate_ = make_gate(Choice::enforced, Place::worker);
    const auto prepared = await(io, gate_->prepare());
    ASSERT_TRUE(prepared) << prepared.error().text();
    use(*gate_);
  }
};

TEST_F(EgressTest, AHostileProgramReachesTheModuleProxyAndNothingElse) {
  // Another container of the network: it uses its credentials, says who it is, and listens.
  worker::RunRequest peer = acquire(
      "wget -q -O /dev/null http://local-0.cupel.invalid/hello || echo no-proxy; "
      "ip -4 addr show eth0 | grep -o 'inet [0-9.]*'; echo proxy $HTTP_PROXY; "
      "own=$(ip -4 addr show eth0 | grep -o 'inet [0-9.]*' | tr -d 'inet '); "
      "(while true; do echo peer-speaks | /bin/busybox nc -l -p 9000; done) & sleep 1; "
      "/bin/busybox nc $own 9000 </dev/null; echo ready; wait");
  peer.limit = std::chrono::seconds(170);
  RunBeside beside(io, *executor, peer);
  ASSERT_TRUE(beside.said("ready\n"))
      << (beside.report.error ? beside.report.error->text() : beside.report.err.bytes);
  const std::string& said = beside.output();
  EXPECT_EQ(said.find("no-proxy"), std::string::npos) << said;
  const std::string peer_ip = word_after(said, "inet ");
  std::string foreign = word_after(said, "proxy http://");
  foreign.erase(std::min(foreign.find('@'), foreign.size()));
  // What is to be out of reach is there: seen by the peer itself, and from the host.
  EXPECT_THAT(said, HasSubstr("peer-speaks"));
  EXPECT_THAT(ask_from_host("127.0.0.1", services_.open_port()), HasSubstr("secret of the host"));
  EXPECT_THAT(ask_from_host(gate_->bridge().gateway, services_.open_port()),
              HasSubstr("secret of the host"));
  const int visits = services_.visits();

  const worker::RunReport report = attack(peer_ip, foreign);
  EXPECT_FALSE(beside.ended()) << "the peer ended too early";
  (void)beside.end();

  expect_held(report, visits, "egress: written by egress_test");
}

TEST_F(EgressTest, WhatSomebodyTookAwayIsMadeAgain) {
  const auto fetch = [this] {
    return run(acquire("wget -q -O - http://local-0.cupel.invalid/hello"));
  };
  EXPECT_EQ(fetch().out.bytes, "hello from the proxy\n");

  const auto forget = [](std::string bridge) -> boost::asio::awaitable<bool> {
    co_await worker::egress::HostFirewall::remove(bridge);
    co_return true;
  };
  EXPECT_TRUE(await(io, forget(gate_->bridge().name)));
  worker::RunReport report = fetch();
  EXPECT_EQ(report.egress, "enforced");
  EXPECT_EQ(report.out.bytes, "hello from the proxy\n");

  const auto removed = await(io, engine->network_remove(network_name()));
  ASSERT_TRUE(removed) << removed.error().text();
  report = fetch();
  EXPECT_EQ(report.egress, "enforced");
  EXPECT_EQ(report.out.bytes, "hello from the proxy\n") << report.err.bytes;
}

TEST_F(EgressTest, RulesThatVanishDuringARunAreSeenInItsEvidence) {
  worker::RunRequest request = acquire("echo up; sleep 3");
  bool removed = false;
  const worker::RunReport report =
      run(request, nullptr, [&](Stream, std::uint64_t, std::string_view) {
        if (std::exchange(removed, true)) return;
        boost::asio::co_spawn(io, worker::egress::HostFirewall::remove(gate_->bridge().name),
                              [](std::exception_ptr) {});
      });
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.egress, "configured");
  EXPECT_THAT(report.egress_refused, Contains(HasSubstr("not enforced to the end")));
}

TEST_F(EgressTest, ARunThatUsesUpItsBytesIsCutAndOthersAreNot) {
  // Each answer counts with its head, and one connection at a time.
  const worker::RunReport report = run(
      acquire("i=0; while wget -q -O /dev/null http://local-0.cupel.invalid/hello; do i=$((i+1)); "
              "[ $i -gt 500 ] && break; done; echo $i"));
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_GT(std::atoi(report.out.bytes.c_str()), 50);
  EXPECT_LT(std::atoi(report.out.bytes.c_str()), 500);
  EXPECT_THAT(report.egress_refused, Contains(HasSubstr("(bytes)")));
  EXPECT_EQ(run(acquire("wget -q -O - http://local-0.cupel.invalid/hello")).out.bytes,
            "hello from the proxy\n");
}

TEST_F(EgressTest, StopLeavesNothingBehind) {
  const std::string bridge = gate_->bridge().name;
  EXPECT_TRUE(worker::egress::host_has(bridge, gate_->bridge().gateway));
  EXPECT_TRUE(await(io, stop(*gate_)));
  const auto network = await(io, engine->network_inspect(network_name()));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, Errc::not_found);
  EXPECT_FALSE(worker::egress::host_has(bridge, gate_->bridge().gateway));
  for (const char* const program :
       {"iptables", "iptables-legacy", "ip6tables", "ip6tables-legacy"}) {
    const std::string command = std::string(program) + "-save 2>/dev/null | grep -q " + bridge;
    // NOLINTNEXTLINE(cert-env33-c): a fixed program of this test's machine
    EXPECT_NE(std::system(command.c_str()), 0) << program;
  }
}

TEST_F(EgressTest, WhatIsOnlyConfiguredSaysSoAndIsRefusedToWhomThatIsNotEnough) {
  EXPECT_TRUE(await(io, stop(*gate_)));
  gate_ = make_gate(Choice::configured, Place::worker);
  const auto prepared = await(io, gate_->prepare());
  EXPECT_TRUE(prepared);
  EXPECT_FALSE(gate_->enforced());
  use(*gate_);

  worker::RunRequest request = acquire("ls /sys/class/net");
  const worker::RunReport allowed = run(request);
  EXPECT_EQ(allowed.egress, "configured");
  EXPECT_THAT(allowed.out.bytes, HasSubstr("eth0"));

  request.enforced_egress = true;
  const worker::RunReport refused = run(request);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Errc::unsafe_sandbox);
  EXPECT_FALSE(refused.started);
}

}  // namespace
}  // namespace cupel::test
