/// The same run with every engine, against the calls of this machine's Docker Engine made raw: a
/// no-op, and `go test` of a module with one test and a warm build cache. All take turns.

#include "common/fs/files.hpp"
#include "tests/bench/engine_overhead/raw_engine.hpp"
#include "tests/bench/engines/contenders.hpp"
#include "tests/bench/support/figures.hpp"
#include "worker/core/engine/wrapper_protocol.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace cupel::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Command = std::vector<std::string>;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

worker::RunRequest request_of(const Contender& contender, const Command& command) {
  worker::RunRequest request;
  request.profile = worker::Profile::execute;
  request.campaign = CampaignId{1};
  request.task = TaskId{1};
  request.token = Token{1};
  request.command = command;
  request.workdir = ".";
  request.image = contender.image;
  request.mounts = contender.mounts;
  request.limit = std::chrono::minutes(5);
  request.task_deadline = Clock::now() + std::chrono::minutes(10);
  return request;
}

void raw(const Ground& ground, const Contender& docker, const Command& command) {
  worker::RunIdentity identity;
  identity.run_id = fs::random_hex(8);
  identity.deadline.us = std::chrono::duration_cast<std::chrono::microseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count() +
                         600'000'000;
  worker::WrapperOrders orders;
  orders.nonce = fs::random_hex(16);
  orders.limit = std::chrono::minutes(5);
  orders.grace = std::chrono::seconds(1);
  const auto spec =
      worker::container_spec(request_of(docker, command), docker.context, docker.traits, identity);
  raw_run(ground.socket, worker::container_name(docker.context, identity), spec.value(),
          worker::encode_orders(orders).value());
}

void ours(const Ground& ground, const Contender& contender, const Command& command) {
  const worker::RunReport report =
      wait_for(ground.loop, contender.port->run(request_of(contender, command), nullptr, {}));
  if (!report.error && report.end_marker && report.exit_code == 0) return;
  fail(contender.name + ": " +
       (report.error ? report.error->text()
                     : "exit code " + std::to_string(report.exit_code) + "\n" + report.out.bytes +
                           report.err.bytes));
}

/// Every round all of them run once, in an order that moves on by one.
void compare(const Ground& ground, const std::deque<Contender>& all, const std::string& what,
             const Command& command, int rounds) {
  const Contender& docker = all.front();
  std::map<std::string, Series> series;
  raw(ground, docker, command);
  for (const Contender& contender : all) {
    series[contender.name] = {"engines_" + what + "_" + contender.name, "ms", {}, {}};
    ours(ground, contender, command);  // whatever only the first run pays for
  }
  for (int round = 0; round < rounds; ++round) {
    std::map<std::string, double> took;
    for (std::size_t turn = 0; turn <= all.size(); ++turn) {
      const std::size_t who = (turn + static_cast<std::size_t>(round)) % (all.size() + 1);
      const auto start = Clock::now();
      if (who == all.size()) {
        raw(ground, docker, command);
        took["floor"] = ms_since(start);
      } else {
        ours(ground, all[who], command);
        took[all[who].name] = ms_since(start);
      }
    }
    for (auto& [name, figures] : series) figures.add(took.at(name), took.at("floor"));
  }
  for (const Contender& contender : all)
    print(series[contender.name],
          {{"engine", contender.version}, {"floor", docker.version + ", raw"}});
}

int run(int argc, char** argv) {
  int rounds = 10;
  int test_rounds = 5;
  std::string only;
  std::string socket = "/var/run/docker.sock";
  std::string wrapper = built_wrapper();
  CLI::App app("The same run with every engine that a worker knows, against raw calls of one.",
               "ops/bench engines");
  app.add_option("--rounds", rounds, "Rounds of `true`, at least 2")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  app.add_option("--test-rounds", test_rounds, "Rounds of `go test`, at least 2")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  app.add_option("--only", only, "One engine beside Docker")
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(kContenders), std::end(kContenders))));
  app.add_option("--socket", socket, "Of this machine's engine")->capture_default_str();
  app.add_option("--wrapper", wrapper, "cupel-init; else the one that was built");
  CLI11_PARSE(app, argc, argv);
  asio::io_context loop(1);
  asio::thread_pool files(2);
  const Ground ground{
      .loop = loop,
      .files = files,
      .socket = socket,
      .wrapper = wrapper,
      .dir = std::filesystem::path("/var/tmp") / ("cupel-bench-" + fs::random_hex(6))};
  std::filesystem::create_directories(ground.dir);
  {
    std::deque<Contender> all;
    for (const std::string_view name : kContenders) {
      if (!only.empty() && only != name && name != "docker") continue;
      auto contender = make_contender(std::string(name), ground);
      if (contender) {
        all.push_back(*std::move(contender));
        continue;
      }
      if (name == "docker") fail("the floor needs an engine: " + contender.error().text());
      const nlohmann::ordered_json line = {{"name", "engines_" + std::string(name)},
                                           {"missing", contender.error().text()}};
      std::printf("%s\n", line.dump().c_str());
    }
    compare(ground, all, "noop", {"true"}, rounds);
    compare(ground, all, "go_test", {"go", "test", "-count=1", "./..."}, test_rounds);
  }
  files.join();
  (void)fs::remove_tree(ground.dir);
  return 0;
}

}  // namespace
}  // namespace cupel::bench

int main(int argc, char** argv) {
  return cupel::bench::run(argc, argv);
}
