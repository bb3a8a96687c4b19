// Runs with a network on the real engine: what they must reach, and everything that they must not.
#include "tests/integration/egress/host_services.hpp"
#include "tests/integration/sandbox/hostile_table.hpp"
#include "tests/integration/sandbox/sandbox.hpp"
#include "worker/egress/gate.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sstream>
#include <unistd.h>

namespace cupel::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using worker::egress::Choice;
using worker::egress::Gate;

/// The first address of the host on an interface that is wanted.
std::string address_where(const std::function<bool(const std::string&)>& wanted) {
  ifaddrs* list = nullptr;
  std::string found;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr && found.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if (!wanted(entry->ifa_name)) continue;
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    found = boost::asio::ip::make_address_v4(ntohl(v4->sin_addr.s_addr)).to_string();
  }
  ::freeifaddrs(list);
  return found;
}

std::string host_address() {
  return address_where([](const std::string& name) {
    return name != "lo" && !name.starts_with("docker") && !name.starts_with("br-") &&
           !name.starts_with("cup");
  });
}

struct Row {
  std::string attack;
  bool reached = false;
  std::string what;
};

std::vector<Row> rows_of(const std::string& output) {
  std::vector<Row> rows;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find('\t');
    const auto second = line.find('\t', first + 1);
    if (second == std::string::npos) continue;
    rows.push_back({line.substr(0, first), line.substr(first + 1, second - first - 1) == "REACHED",
                    line.substr(second + 1)});
  }
  return rows;
}

class EgressTest : public SandboxTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root makes rules of the host's packet filter";
    SandboxTest::SetUp();
    gate_ = make_gate(Choice::enforced);
    const auto prepared = await(io, gate_->prepare());
    ASSERT_TRUE(prepared) << prepared.error().text();
    use(*gate_);
  }

  void TearDown() override {
    if (gate_) {
      const bool stopped = await(io, stop(*gate_));
      EXPECT_TRUE(stopped);
    }
    if (engine) SandboxTest::TearDown();
  }

  static boost::asio::awaitable<bool> stop(Gate& gate) {
    co_await gate.stop();
    co_return true;
  }

  std::unique_ptr<Gate> make_gate(Choice choice) {
    worker::egress::GateOptions options{.worker = worker_, .choice = choice};
    auto sources = worker::egress::module_sources(
        {.goproxy = "http://127.0.0.1:" + std::to_string(services_.proxy_port()),
         .gosumdb = "sum https://localhost:" + std::to_string(services_.echo_port()),
         .by_operator = true});
    EXPECT_TRUE(sources);
    options.sources = *sources;
    options.run_bytes_max = 16U << 10U;
    return std::make_unique<Gate>(io.get_executor(), *engine, std::move(options),
                                  worker::egress::ProxyOptions{});
  }

  void use(Gate& gate) {
    worker::ExecutorOptions all = options();
    all.context.goproxy = "http://127.0.0.1:1";
    all.egress = &gate;
    rebuild(std::move(all));
  }

  worker::RunRequest acquire(const std::string& script) {
    worker::RunRequest request = shell(script);
    request.profile = worker::Profile::acquire;
    return request;
  }

  std::string network_name() const {
    return "cupel-egress-" + worker::egress::bridge_name(worker_.value).substr(4);
  }

  WorkerId worker_{fs::random_u64() >> 1U | 1U};
  HostServices services_;
  std::unique_ptr<Gate> gate_;
};

/// Writes the table with CUPEL_UPDATE_GOLDEN=1, and holds the attacks of the program to it.
void compare_table(const std::vector<Row>& rows, const std::string& engine) {
  std::string table = "| attack | engine | what happened |\n|---|---|---|\n";
  for (const Row& row : rows) {
    table += "| " + row.attack + " | " + engine + " | " +
             (row.reached ? "works, as it must" : "blocked") + " |\n";
  }
  expect_table("egress: written by egress_test", table);
}

TEST_F(EgressTest, AHostileProgramReachesTheModuleProxyAndNothingElse) {
  // Another container of the network: it uses its credentials, says who it is, and listens.
  auto cancel = std::make_shared<worker::CancelToken>();
  std::string said;
  worker::RunRequest peer = acquire(
      "wget -q -O /dev/null http://local-0.cupel.invalid/hello || echo no-proxy; "
      "ip -4 addr show eth0 | grep -o 'inet [0-9.]*'; echo proxy $HTTP_PROXY; "
      "own=$(ip -4 addr show eth0 | grep -o 'inet [0-9.]*' | tr -d 'inet '); "
      "(while true; do echo peer-speaks | /bin/busybox nc -l -p 9000; done) & sleep 1; "
      "/bin/busybox nc $own 9000 </dev/null; echo ready; wait");
  peer.limit = std::chrono::seconds(170);
  bool peer_ended = false;
  worker::RunReport peer_report;
  boost::asio::co_spawn(
      io,
      executor->run(peer, cancel,
                    [&](Stream, std::uint64_t, std::string_view bytes) { said += bytes; }),
      [&](std::exception_ptr, worker::RunReport report) {
        peer_report = std::move(report);
        peer_ended = true;
      });
  io.restart();
  while (said.find("ready\n") == std::string::npos && !peer_ended) io.run_one();
  ASSERT_FALSE(peer_ended) << (peer_report.error ? peer_report.error->text()
                                                 : peer_report.err.bytes);
  EXPECT_EQ(said.find("no-proxy"), std::string::npos) << said;
  const auto word_after = [&](const std::string& mark) {
    const auto at = said.find(mark) + mark.size();
    return said.substr(at, said.find('\n', at) - at);
  };
  const std::string peer_ip = word_after("inet ");
  std::string foreign = word_after("proxy http://");
  foreign.erase(std::min(foreign.find('@'), foreign.size()));
  // What is to be out of reach is there: seen by the peer itself, and from the host.
  EXPECT_THAT(said, HasSubstr("peer-speaks"));
  EXPECT_THAT(ask_from_host("127.0.0.1", services_.open_port()), HasSubstr("secret of the host"));
  EXPECT_THAT(ask_from_host(gate_->bridge().gateway, services_.open_port()),
              HasSubstr("secret of the host"));
  const int visits = services_.visits();

  std::filesystem::copy_file(CUPEL_HOSTILE, mounts.source + "/hostile");
  const std::string bridge =
      address_where([](const std::string& name) { return name.starts_with("docker"); });
  worker::RunRequest request = acquire("");
  request.command = {"/src/hostile",
                     "host_ip=" + host_address(),
                     "host_port=" + std::to_string(services_.open_port()),
                     "bridge_ip=" + (bridge.empty() ? host_address() : bridge),
                     "peer_ip=" + peer_ip,
                     "foreign=" + foreign,
                     "allowed=local-0.cupel.invalid",
                     "target_ip=127.0.0.1:" + std::to_string(services_.proxy_port()),
                     "echo=localhost:" + std::to_string(services_.echo_port())};
  request.limit = std::chrono::seconds(150);
  const worker::RunReport report = run(request);
  EXPECT_FALSE(peer_ended) << "the peer ended too early";
  cancel->cancel();
  while (!peer_ended) io.run_one();

  ASSERT_FALSE(report.error) << report.error->text();
  EXPECT_EQ(report.exit_code, 0) << report.out.bytes << report.err.bytes;
  EXPECT_EQ(report.egress, "enforced");
  const std::vector<Row> rows = rows_of(report.out.bytes);
  EXPECT_GT(rows.size(), 45U);
  for (const Row& row : rows) {
    EXPECT_EQ(row.reached, row.attack.starts_with("control: ")) << row.attack << ": " << row.what;
  }
  EXPECT_EQ(services_.visits(), visits) << "something came to the host's service";
  EXPECT_THAT(report.egress_refused, Contains("egress refused: CONNECT example.com:443 (target)"));
  EXPECT_THAT(report.egress_refused, Contains(HasSubstr("169.254.169.254")));
  const auto version = await(io, engine->negotiate());
  compare_table(rows, version ? version->name : "");
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
  gate_ = make_gate(Choice::configured);
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
