/// What Cupel adds to the engine's own work: wall time of a no-op run through RunExecutor against
/// the same calls raw, and runs per second at 1, 2 and 4 slots. Both sides take turns.

#include "common/docker/client.hpp"
#include "common/fs/files.hpp"
#include "common/images/select.hpp"
#include "common/images/table.hpp"
#include "tests/bench/engine_overhead/raw_engine.hpp"
#include "tests/bench/support/figures.hpp"
#include "worker/core/engine/container_spec.hpp"
#include "worker/core/engine/wrapper_protocol.hpp"
#include "worker/run/run_executor.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace cupel::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr int kRunsPerSlot = 6;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Setup {
  std::string socket_path;
  std::string image;
  std::string wrapper;
  std::filesystem::path dir;
  worker::ProfileContext context;
  worker::ImageTraits traits;
};

worker::RunRequest no_op(const Setup& setup) {
  worker::RunRequest request;
  request.profile = worker::Profile::execute;
  request.campaign = CampaignId{1};
  request.task = TaskId{1};
  request.token = Token{1};
  request.command = {"true"};
  request.workdir = ".";
  request.image = setup.image;
  request.mounts.source = setup.dir / "src";
  request.mounts.gocache = setup.dir / "gocache";
  request.limit = std::chrono::seconds(60);
  request.task_deadline = Clock::now() + std::chrono::minutes(5);
  return request;
}

void raw(const Setup& setup) {
  worker::RunIdentity identity;
  identity.run_id = fs::random_hex(8);
  identity.deadline.us = std::chrono::duration_cast<std::chrono::microseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count() +
                         300'000'000;
  worker::WrapperOrders orders;
  orders.nonce = fs::random_hex(16);
  orders.limit = std::chrono::seconds(60);
  orders.grace = std::chrono::seconds(1);
  const auto spec = worker::container_spec(no_op(setup), setup.context, setup.traits, identity);
  raw_run(setup.socket_path, worker::container_name(setup.context, identity), spec.value(),
          worker::encode_orders(orders).value());
}

asio::awaitable<void> cupel_run(worker::RunExecutor* executor, const Setup* setup,
                                std::atomic<int>* bad) {
  auto request = no_op(*setup);
  auto report =
      co_await executor->run(std::move(request), std::make_shared<worker::CancelToken>(), {});
  if (report.error || !report.end_marker || report.exit_code != 0) bad->fetch_add(1);
}

asio::awaitable<void> cupel_runs(worker::RunExecutor* executor, const Setup* setup,
                                 std::atomic<int>* left, std::atomic<int>* bad) {
  while (left->fetch_sub(1) > 0) co_await cupel_run(executor, setup, bad);
}

double raw_rate(const Setup& setup, int slots, int total) {
  std::atomic<int> left{total};
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < slots; ++i) {
    threads.emplace_back([&] {
      while (left.fetch_sub(1) > 0) raw(setup);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return total / seconds_since(start);
}

int run(int argc, char** argv) {
  int rounds = 30;
  Setup setup;
  setup.socket_path = "/var/run/docker.sock";
  setup.wrapper = built_wrapper();
  CLI::App app("A no-op run through the worker's executor, against the engine's calls made raw.",
               "ops/bench engine-overhead");
  app.add_option("--rounds", rounds, "Rounds of both, at least 2")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  app.add_option("--socket", setup.socket_path, "The engine's")->capture_default_str();
  app.add_option("--image", setup.image, "The engine's id of one; else its newest toolchain");
  app.add_option("--wrapper", setup.wrapper, "cupel-init; else the one that was built");
  CLI11_PARSE(app, argc, argv);
  asio::io_context loop(1);
  const auto work = asio::make_work_guard(loop);
  std::thread thread([&loop] { loop.run(); });
  asio::thread_pool files(2);
  docker::Client engine(loop.get_executor(),
                        {.socket_path = setup.socket_path, .budgets = {}, .observer = {}});
  const auto version = asio::co_spawn(loop, engine.negotiate(), asio::use_future).get();
  if (!version) {
    std::fprintf(stderr, "%s\n", version.error().text().c_str());
    std::exit(1);
  }
  if (setup.image.empty()) {
    std::vector<images::EngineImage> all;
    for (const auto& facts :
         asio::co_spawn(loop, engine.image_list({}), asio::use_future).get().value()) {
      all.push_back({facts.id, facts.digests, {facts.labels.begin(), facts.labels.end()}});
    }
    const auto available = images::match_images(images::builtin_table(), all);
    if (available.empty()) {
      std::fprintf(stderr, "the engine holds no toolchain image; 'cupel image build' makes one\n");
      std::exit(1);
    }
    setup.image = available.back().engine_id;
  }
  setup.dir = std::filesystem::path("/var/tmp") / ("cupel-bench-" + fs::random_hex(6));
  std::filesystem::create_directories(setup.dir / "src");
  std::filesystem::create_directories(setup.dir / "gocache");
  std::filesystem::permissions(setup.dir / "gocache", std::filesystem::perms(0777));
  (void)fs::write_file_durably(setup.dir / "src/go.mod", "module example.com/bench\n", 0644);
  setup.context.fleet = FleetId{1};
  setup.context.worker = WorkerId{fs::random_u64() | 1U};
  setup.context.wrapper_path = setup.wrapper;
  worker::ExecutorOptions options;
  options.context = setup.context;
  worker::RunExecutor executor(loop.get_executor(), engine, files, options);
  setup.traits =
      asio::co_spawn(loop, executor.image_traits(setup.image), asio::use_future).get().value();

  std::atomic<int> bad{0};
  const auto our_rate = [&](int slots, int total) {
    std::atomic<int> left{total};
    const auto start = Clock::now();
    std::vector<std::future<void>> running;
    for (int i = 0; i < slots; ++i) {
      running.push_back(
          asio::co_spawn(loop, cupel_runs(&executor, &setup, &left, &bad), asio::use_future));
    }
    for (auto& one : running) one.get();
    return total / seconds_since(start);
  };
  const std::string engine_name = version->name + " " + version->version;
  raw(setup);
  our_rate(1, 1);

  Series wall{"engine_overhead_wall", "ms", {}, {}};
  for (int round = 0; round < rounds; ++round) {
    double floor = 0;
    double ours = 0;
    take_turns(
        round, [&] { floor = 1000 / raw_rate(setup, 1, 1); },
        [&] { ours = 1000 / our_rate(1, 1); });
    wall.add(ours, floor);
  }
  print(wall, {{"slots", 1}, {"engine", engine_name}});
  for (const int slots : {1, 2, 4}) {
    const int total = kRunsPerSlot * slots;
    Series rate{"engine_overhead_rate_" + std::to_string(slots) + "_slots", "runs/s", {}, {}};
    for (int round = 0; round < std::max(2, rounds / 5); ++round) {
      double floor = 0;
      double ours = 0;
      take_turns(
          round, [&] { floor = raw_rate(setup, slots, total); },
          [&] { ours = our_rate(slots, total); });
      rate.add(ours, floor);
    }
    print(rate, {{"slots", slots}, {"runs_a_round", total}, {"engine", engine_name}});
  }
  loop.stop();
  thread.join();
  files.join();
  (void)fs::remove_tree(setup.dir);
  if (bad > 0) {
    std::fprintf(stderr, "%d of our runs did not end as a no-op should\n", bad.load());
    std::exit(1);
  }
  return 0;
}

}  // namespace
}  // namespace cupel::bench

int main(int argc, char** argv) {
  return cupel::bench::run(argc, argv);
}
