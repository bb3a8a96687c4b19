// Runs whose only way out is an exit container, as with an engine in a virtual machine: what they
// must reach, everything that they must not, and what the evidence says.
#include "common/async/clock.hpp"
#include "common/core/digest.hpp"
#include "tests/integration/egress/egress_fixture.hpp"
#include "worker/core/engine/exit_spec.hpp"
#include "worker/run/reaper.hpp"

#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace cupel::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using worker::egress::Choice;
using worker::egress::Place;

class ExitTest : public EgressFixture {
 protected:
  void SetUp() override {
    SandboxTest::SetUp();
    gate_ = make_gate(Choice::enforced, Place::container);
    const auto prepared = await(io, gate_->prepare());
    ASSERT_TRUE(prepared) << prepared.error().text();
    use(*gate_);
  }

  [[nodiscard]] worker::RunReport fetch() {
    return run(acquire("wget -q -O - http://local-0.cupel.invalid/hello"));
  }

  /// Containers of the fleet that are exits.
  [[nodiscard]] std::vector<docker::ContainerSummary> exits() {
    std::vector<docker::ContainerSummary> all = our_containers();
    std::erase_if(all, [](const docker::ContainerSummary& one) {
      return !one.labels.contains(std::string(worker::label::kExitOf));
    });
    return all;
  }
};

TEST_F(ExitTest, AHostileProgramReachesTheModuleProxyAndNothingElse) {
  // Another container, on the engine's own bridge, and another run with an exit of its own.
  worker::RunExecutor open_runs(io.get_executor(), *engine, files, options());
  worker::RunRequest listens = acquire(
      "ip -4 addr show eth0 | grep -o 'inet [0-9.]*'; echo ready; "
      "while true; do echo peer-speaks | /bin/busybox nc -l -p 9000; done");
  listens.limit = std::chrono::seconds(170);
  RunBeside neighbour(io, open_runs, std::move(listens));
  ASSERT_TRUE(neighbour.said("ready\n"));
  worker::RunRequest has_credentials = acquire(
      "wget -q -O /dev/null http://local-0.cupel.invalid/hello || echo no-proxy; "
      "echo proxy $HTTP_PROXY; echo ready; while true; do sleep 1; done");
  has_credentials.limit = std::chrono::seconds(170);
  RunBeside other(io, *executor, std::move(has_credentials));
  ASSERT_TRUE(other.said("ready\n"));
  EXPECT_THAT(other.output(), Not(HasSubstr("no-proxy")));
  std::string foreign = word_after(other.output(), "proxy http://");
  foreign.erase(std::min(foreign.find('@'), foreign.size()));
  // What is to be out of reach is there.
  const std::string peer_ip = word_after(neighbour.output(), "inet ");
  EXPECT_THAT(ask_from_host(peer_ip, 9000), HasSubstr("peer-speaks"));
  EXPECT_THAT(ask_from_host(default_bridge_address(), services_.open_port()),
              HasSubstr("secret of the host"));
  const int visits = services_.visits();

  const worker::RunReport report =
      attack(peer_ip, foreign, {"gateway=" + default_bridge_address()});
  EXPECT_FALSE(neighbour.ended() || other.ended()) << "what was to be attacked ended too early";
  (void)neighbour.end();
  EXPECT_EQ(other.end().egress, "enforced");

  expect_held(report, visits, "exit container: written by exit_test");
}

TEST_F(ExitTest, ARunHasLoopbackAndNothingIsLeftOfItsExit) {
  const worker::RunReport report =
      run(acquire("ls /sys/class/net; cat /etc/resolv.conf; hostname; echo proxy $HTTP_PROXY; "
                  "wget -q -O - http://local-0.cupel.invalid/hello"));

  EXPECT_THAT(report.out.bytes, HasSubstr("lo\nnameserver 127.0.0.1\n"));
  EXPECT_THAT(report.out.bytes, Not(HasSubstr("eth")));
  EXPECT_THAT(report.out.bytes, HasSubstr("\ncupel\nproxy http://"));
  EXPECT_THAT(report.out.bytes, HasSubstr("@127.0.0.1:"));
  EXPECT_TRUE(report.out.bytes.ends_with("hello from the proxy\n")) << report.err.bytes;
  EXPECT_EQ(report.egress, "enforced");
  EXPECT_TRUE(report.egress_refused.empty());
  EXPECT_TRUE(our_containers().empty());
  EXPECT_TRUE(gate_->exits().empty());
  const auto network = await(io, engine->network_inspect(network_name()));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().code, Errc::not_found);
}

TEST_F(ExitTest, AnExitContainerIsConfinedAndHasNoLog) {
  RunBeside beside(io, *executor, acquire("echo up; while true; do sleep 1; done"));
  ASSERT_TRUE(beside.said("up\n"));
  const auto serving = exits();
  ASSERT_EQ(serving.size(), 1U);
  EXPECT_EQ(gate_->exits().size(), 1U);
  EXPECT_TRUE(gate_->exits().contains(serving.front().labels.at("cupel.run")));
  EXPECT_EQ(serving.front().labels.at("cupel.profile"), "acquire");
  // Nothing that goes through it is kept by the engine.
  const docker::LogEnd log =
      await(io, engine->logs(serving.front().id, 1000, [](Stream, std::string_view) { FAIL(); }));
  EXPECT_TRUE(log.error || log.complete);
  EXPECT_EQ(beside.end().egress, "enforced");
}

TEST_F(ExitTest, MuchArrivesWholeOverSeveralConnections) {
  run_bytes_max_ = 64U << 20U;
  gate_ = make_gate(Choice::enforced, Place::container);
  EXPECT_TRUE(await(io, gate_->prepare()));
  use(*gate_);
  const worker::RunReport report = run(
      acquire("for i in 1 2 3; do (wget -q -O - http://local-0.cupel.invalid/big | sha256sum) & "
              "done; wait"));

  const std::string sum = sha256(big_body()).hex() + "  -\n";
  EXPECT_EQ(report.out.bytes, sum + sum + sum) << report.err.bytes;
  EXPECT_EQ(report.egress, "enforced");
}

TEST_F(ExitTest, ARunThatUsesUpItsBytesIsCutAndOthersAreNot) {
  const worker::RunReport report = run(
      acquire("i=0; while wget -q -O /dev/null http://local-0.cupel.invalid/hello; do i=$((i+1)); "
              "[ $i -gt 500 ] && break; done; echo $i"));

  EXPECT_EQ(report.exit_code, 0);
  EXPECT_GT(std::atoi(report.out.bytes.c_str()), 50);
  EXPECT_LT(std::atoi(report.out.bytes.c_str()), 500);
  EXPECT_THAT(report.egress_refused, Contains(HasSubstr("(bytes)")));
  EXPECT_EQ(fetch().out.bytes, "hello from the proxy\n");
}

TEST_F(ExitTest, MoreConnectionsThanItHoldsHarmOnlyTheirRun) {
  worker::RunRequest request = acquire(
      "port=${HTTP_PROXY##*:}; i=0; while [ $i -lt 120 ]; do "
      "(sleep 2 | /bin/busybox nc 127.0.0.1 $port >/dev/null 2>&1) & i=$((i+1)); done; "
      "sleep 1; wget -q -O - http://local-0.cupel.invalid/hello; wait");
  request.limits.pids = 512;
  const worker::RunReport report = run(std::move(request));

  EXPECT_EQ(report.out.bytes, "hello from the proxy\n") << report.err.bytes;
  EXPECT_EQ(report.egress, "enforced");
}

TEST_F(ExitTest, AnExitThatGoesDuringARunIsSeenInItsEvidence) {
  RunBeside beside(io, *executor,
                   acquire("echo up; while wget -q -O /dev/null "
                           "http://local-0.cupel.invalid/hello; do sleep 1; done; echo cut"));
  ASSERT_TRUE(beside.said("up\n"));
  const auto serving = exits();
  ASSERT_EQ(serving.size(), 1U);
  EXPECT_TRUE(await(io, engine->kill(serving.front().id)));
  ASSERT_TRUE(beside.said("cut\n"));
  const worker::RunReport report = beside.end();

  EXPECT_EQ(report.egress, "configured");
  EXPECT_THAT(report.egress_refused, Contains(HasSubstr("not enforced to the end")));
}

TEST_F(ExitTest, AWorkerThatDiesLeavesAnExitThatEndsAndIsReaped) {
  // To the engine a dead worker is a connection that ended.
  worker::RunRequest request = acquire("true");
  const worker::RunIdentity identity{.run_id = "00000000deadbeef",
                                     .deadline = {async::wall_now().us + 60'000'000}};
  const auto spec = worker::exit_spec(request, options().context, identity, "00ff");
  ASSERT_TRUE(spec) << spec.error().text();
  worker::egress::Proxy proxy{worker::egress::ProxyOptions{}};
  {
    worker::egress::ExitContainer exit(io.get_executor(), *engine, proxy, "exit 00ff");
    const auto seen =
        await(io, exit.open(worker::container_name(options().context, identity), *spec));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_TRUE(seen->enclosed()) << seen->found;
    EXPECT_NE(seen->port, 0);
    ASSERT_EQ(exits().size(), 1U);
  }
  const auto ended = await(io, engine->wait(exits().front().id, std::chrono::seconds(10)));
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->exit_code, 0);

  worker::Reaper reaper(
      *engine, {.fleet = fleet, .worker = options().context.worker, .incarnation = Incarnation{2}},
      [] { return std::set<std::string>(); }, async::wall_now);
  const auto counts = await(io, reaper.pass());
  ASSERT_TRUE(counts) << counts.error().text();
  EXPECT_EQ(counts->removed, 1U);
  EXPECT_TRUE(our_containers().empty());
}

TEST_F(ExitTest, AReaperSparesTheExitOfARunThatIsUnderWay) {
  RunBeside beside(io, *executor, acquire("echo up; while true; do sleep 1; done"));
  ASSERT_TRUE(beside.said("up\n"));
  worker::Reaper reaper(
      *engine, {.fleet = fleet, .worker = options().context.worker, .incarnation = Incarnation{1}},
      [this] {
        std::set<std::string> live = executor->live_runs();
        live.insert(gate_->exits().begin(), gate_->exits().end());
        return live;
      },
      async::wall_now);
  const auto counts = await(io, reaper.pass());
  ASSERT_TRUE(counts) << counts.error().text();
  EXPECT_EQ(counts->removed, 0U);
  EXPECT_EQ(beside.end().egress, "enforced");
}

/// Gives runs another namespace's name, as if the engine had put them elsewhere.
class WrongNamespace final : public worker::EgressPort {
 public:
  explicit WrongNamespace(worker::EgressPort& port) : port_(port) {}
  boost::asio::awaitable<Result<worker::RunEgress>> admit(worker::RunRequest request,
                                                          std::string run_id) override {
    auto granted = co_await port_.admit(std::move(request), std::move(run_id));
    if (granted) granted->network_namespace = "net:[1]";
    co_return granted;
  }
  boost::asio::awaitable<worker::EgressSeen> leave(std::string run_id) override {
    return port_.leave(std::move(run_id));
  }

 private:
  worker::EgressPort& port_;
};

TEST_F(ExitTest, ARunThatIsNotWhereItsExitIsDoesNotStart) {
  WrongNamespace wrong(*gate_);
  use(wrong);
  const worker::RunReport report = run(acquire("echo ran"));

  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code, Errc::unsafe_sandbox);
  EXPECT_THAT(report.out.bytes, Not(HasSubstr("ran")));
}

TEST_F(ExitTest, WhatLooksFromInsideSeesAnOpenNetwork) {
  // Else "enclosed" would prove nothing.
  worker::RunRequest request = acquire("");
  request.command = {std::string(worker::kWrapperPath), "--enclosure"};
  rebuild(options());
  const worker::RunReport report = run(request);
  const auto seen = worker::egress::parse_exit_seen(
      std::string_view(report.out.bytes).substr(0, report.out.bytes.find('\n')));

  ASSERT_TRUE(seen) << report.out.bytes;
  EXPECT_FALSE(seen->enclosed());
  EXPECT_THAT(seen->found, HasSubstr("interface:eth0"));
  EXPECT_THAT(seen->found, HasSubstr("route:eth0"));
  EXPECT_THAT(seen->found, HasSubstr("tcp:192.0.2.1"));
}

TEST_F(ExitTest, AProfileWithARuntimeOfItsOwnIsConfiguredOrRefused) {
  gate_ = make_gate(Choice::as_can_be, Place::container, {{worker::Profile::acquire, "runc"}});
  EXPECT_TRUE(await(io, gate_->prepare()));
  use(*gate_);
  const worker::RunReport open = run(acquire("true"));
  EXPECT_EQ(open.egress, "configured");
  EXPECT_THAT(open.egress_refused, Contains(HasSubstr("acquire runs in runc")));

  worker::RunRequest demanding = acquire("true");
  demanding.enforced_egress = true;
  const worker::RunReport refused = run(demanding);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Errc::unsafe_sandbox);
  EXPECT_FALSE(refused.started);
}

}  // namespace
}  // namespace cupel::test
