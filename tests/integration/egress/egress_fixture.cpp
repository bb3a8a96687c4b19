#include "tests/integration/egress/egress_fixture.hpp"

#include "tests/integration/sandbox/hostile_table.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gmock/gmock.h>

#include <filesystem>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sstream>
#include <utility>

namespace cupel::test {

using worker::egress::Gate;

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

std::string default_bridge_address() {
  const std::string bridge =
      address_where([](const std::string& name) { return name.starts_with("docker"); });
  return bridge.empty() ? host_address() : bridge;
}

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

void compare_rows(const std::string& mark, const std::vector<Row>& rows,
                  const std::string& engine) {
  std::string table = "| attack | engine | what happened |\n|---|---|---|\n";
  for (const Row& row : rows) {
    table += "| " + row.attack + " | " + engine + " | " +
             (row.reached ? "works, as it must" : "blocked") + " |\n";
  }
  expect_table(mark, table);
}

std::string word_after(const std::string& said, const std::string& mark) {
  const auto at = said.find(mark) + mark.size();
  return said.substr(at, said.find('\n', at) - at);
}

void EgressFixture::TearDown() {
  if (gate_) {
    const bool stopped = await(io, stop(*gate_));
    EXPECT_TRUE(stopped);
  }
  if (engine) SandboxTest::TearDown();
}

boost::asio::awaitable<bool> EgressFixture::stop(Gate& gate) {
  co_await gate.stop();
  co_return true;
}

std::unique_ptr<Gate> EgressFixture::make_gate(worker::egress::Choice choice,
                                               worker::egress::Place place,
                                               std::map<worker::Profile, std::string> runtimes) {
  worker::egress::GateOptions wanted{
      .worker = worker_, .choice = choice, .place = place, .context = options().context};
  wanted.context.runtimes = std::move(runtimes);
  auto sources = worker::egress::module_sources(
      {.goproxy = "http://127.0.0.1:" + std::to_string(services_.proxy_port()),
       .gosumdb = "sum https://localhost:" + std::to_string(services_.echo_port()),
       .by_operator = true});
  EXPECT_TRUE(sources);
  wanted.sources = *sources;
  wanted.run_bytes_max = run_bytes_max_;
  return std::make_unique<Gate>(io.get_executor(), *engine, std::move(wanted),
                                worker::egress::ProxyOptions{});
}

void EgressFixture::use(worker::EgressPort& port) {
  worker::ExecutorOptions all = options();
  all.context.goproxy = "http://127.0.0.1:1";
  all.egress = &port;
  rebuild(std::move(all));
}

worker::RunRequest EgressFixture::acquire(const std::string& script) const {
  worker::RunRequest request = shell(script);
  request.profile = worker::Profile::acquire;
  return request;
}

worker::RunReport EgressFixture::attack(const std::string& peer_ip, const std::string& foreign,
                                        const std::vector<std::string>& more) {
  std::filesystem::copy_file(CUPEL_HOSTILE, mounts.source + "/hostile");
  worker::RunRequest request = acquire("");
  request.command = {"/src/hostile",
                     "host_ip=" + host_address(),
                     "host_port=" + std::to_string(services_.open_port()),
                     "bridge_ip=" + default_bridge_address(),
                     "peer_ip=" + peer_ip,
                     "foreign=" + foreign,
                     "allowed=local-0.cupel.invalid",
                     "target_ip=127.0.0.1:" + std::to_string(services_.proxy_port()),
                     "echo=localhost:" + std::to_string(services_.echo_port())};
  request.command.insert(request.command.end(), more.begin(), more.end());
  request.limit = std::chrono::seconds(150);
  return run(request);
}

void EgressFixture::expect_held(const worker::RunReport& report, int visits_before,
                                const std::string& mark) {
  ASSERT_FALSE(report.error) << report.error->text();
  EXPECT_EQ(report.exit_code, 0) << report.out.bytes << report.err.bytes;
  EXPECT_EQ(report.egress, "enforced");
  const std::vector<Row> rows = rows_of(report.out.bytes);
  EXPECT_GT(rows.size(), 45U);
  for (const Row& row : rows) {
    EXPECT_EQ(row.reached, row.attack.starts_with("control: ")) << row.attack << ": " << row.what;
  }
  EXPECT_EQ(services_.visits(), visits_before) << "something came to the host's service";
  EXPECT_THAT(report.egress_refused,
              ::testing::Contains("egress refused: CONNECT example.com:443 (target)"));
  EXPECT_THAT(report.egress_refused, ::testing::Contains(::testing::HasSubstr("169.254.169.254")));
  const auto version = await(io, engine->negotiate());
  compare_rows(mark, rows, version ? version->name : "");
}

std::string EgressFixture::network_name() const {
  return "cupel-egress-" + worker::egress::bridge_name(worker_.value).substr(4);
}

RunBeside::RunBeside(boost::asio::io_context& io, worker::RunPort& runs, worker::RunRequest request)
    : io_(io) {
  auto hear = [this](Stream, std::uint64_t, std::string_view bytes) { said_ += bytes; };
  boost::asio::co_spawn(io_, runs.run(std::move(request), cancel_, std::move(hear)),
                        [this](std::exception_ptr, worker::RunReport ended) {
                          report = std::move(ended);
                          ended_ = true;
                        });
}

bool RunBeside::said(const std::string& text) {
  io_.restart();
  while (said_.find(text) == std::string::npos && !ended_) io_.run_one();
  return said_.find(text) != std::string::npos;
}

worker::RunReport RunBeside::end() {
  cancel_->cancel();
  io_.restart();
  while (!ended_) io_.run_one();
  return report;
}

}  // namespace cupel::test
