// From submit to durable result through the real coordinator: HTTP, store, CURVE, and a worker that
// answers at once. Each round runs the floor and ours one after the other, in turns.
#include "common/fs/files.hpp"
#include "tests/bench/dispatch/fleet.hpp"
#include "tests/bench/dispatch/floor.hpp"
#include "tests/bench/support/figures.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cupel::bench {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr int kRate = 200;
constexpr int kRateSeconds = 10;
constexpr int kPosters = 4;
constexpr int kPerCampaign = 1000;  // in flight while it is submitted, as the floor's window
constexpr std::uint32_t kLatencySlots = 16;

struct Plan {
  std::filesystem::path dir;
  int rounds = 5;
  int tasks = 20'000;
  bool quick = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr const char* kCpuSeconds = "process_cpu_seconds_total";
constexpr const char* kCommits = "cupel_db_calls_total{op=\"commit\"}";

struct Throughput {
  double tasks_s = 0;
  double cpu_s_per_1k = 0;
  double commits_per_1k = 0;
};

Throughput run_ours(const Plan& plan, std::uint32_t slots) {
  Fleet fleet(plan.dir / "ours");
  Countdown acknowledged(plan.tasks);
  const auto worker = fleet.worker(slots, {{}, {}, [&](const ResultAck&) { acknowledged.add(); }});
  httpclient::Client client = fleet.client();
  const double cpu = fleet.metric(kCpuSeconds);
  const double commits = fleet.metric(kCommits);
  const auto started = Clock::now();
  for (int first = 0; first < plan.tasks; first += kPerCampaign) {
    submit(client, campaign_of("throughput", first, std::min(kPerCampaign, plan.tasks - first)));
  }
  acknowledged.wait();
  const double took = seconds_since(started);
  const double used = fleet.metric(kCpuSeconds) - cpu;
  const double committed = fleet.metric(kCommits) - commits;
  return {plan.tasks / took, used / plan.tasks * 1000, committed / plan.tasks * 1000};
}

void throughput(const Plan& plan, std::uint32_t slots) {
  const std::string suffix = "_" + std::to_string(slots) + "_slots";
  Series rate{"dispatch_tasks_per_second" + suffix, "tasks/s", {}, {}};
  Series cpu{"dispatch_coordinator_cpu_per_1000_tasks" + suffix, "s", {}, {}};
  Series commits{"dispatch_commits_per_1000_tasks" + suffix, "commits", {}, {}};
  for (int round = 0; round < plan.rounds; ++round) {
    Floor floor;
    Throughput ours;
    take_turns(
        round, [&] { floor = run_floor(plan.dir, plan.tasks, slots); },
        [&] { ours = run_ours(plan, slots); });
    rate.add(ours.tasks_s, floor.tasks_s);
    cpu.add(ours.cpu_s_per_1k, floor.cpu_s_per_1k);
    commits.add(ours.commits_per_1k, floor.commits_per_1k);
  }
  const json conditions = {{"slots", slots},
                           {"tasks", plan.tasks},
                           {"workers", 1},
                           {"prefetch", 0},
                           {"curve", true},
                           {"synchronous", "FULL"},
                           {"campaign_of", kPerCampaign}};
  print(rate, conditions);
  print(cpu, conditions);
  print(commits, conditions);
}

struct Waits {
  double p50_ms = 0;
  double p99_ms = 0;
  double rate = 0;
};

// One campaign for each task, so that submit and start can be told from one another.
Waits waits_of_ours(const Plan& plan) {
  const int total = kRate * kRateSeconds;
  Fleet fleet(plan.dir / "ours");
  std::mutex mutex;
  std::map<std::string, Clock::time_point> submitted;
  std::vector<double> waits;
  Countdown acknowledged(total);
  const auto leased = [&](const Lease& lease) {
    const auto* source = std::get_if<AcquireSource>(&lease.spec.work);
    const auto* module = source == nullptr ? nullptr : std::get_if<ModuleSource>(&source->source);
    const std::lock_guard lock(mutex);
    if (module != nullptr && submitted.contains(module->path)) {
      waits.push_back(seconds_since(submitted[module->path]) * 1000);
    }
  };
  const auto worker =
      fleet.worker(kLatencySlots, {{}, leased, [&](const ResultAck&) { acknowledged.add(); }});
  const auto start = Clock::now();
  std::vector<std::thread> posters;
  for (int poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&, poster] {
      httpclient::Client client = fleet.client();
      for (int i = poster; i < total; i += kPosters) {
        std::this_thread::sleep_until(start + std::chrono::microseconds(1'000'000LL * i / kRate));
        {
          const std::lock_guard lock(mutex);
          submitted["example.com/m" + std::to_string(i)] = Clock::now();
        }
        submit(client, campaign_of("latency", i, 1));
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  acknowledged.wait();
  const double rate = total / seconds_since(start);
  const std::lock_guard lock(mutex);
  return {percentile(waits, 0.5), percentile(waits, 0.99), rate};
}

void latency(const Plan& plan) {
  Series p50{"dispatch_submit_to_start_p50", "ms", {}, {}};
  Series p99{"dispatch_submit_to_start_p99", "ms", {}, {}};
  double rate = kRate;
  for (int round = 0; round < plan.rounds; ++round) {
    Floor floor;
    Waits ours;
    take_turns(
        round, [&] { floor = run_floor(plan.dir, kRate * kRateSeconds, kLatencySlots, kRate); },
        [&] { ours = waits_of_ours(plan); });
    p50.add(ours.p50_ms, floor.p50_ms);
    p99.add(ours.p99_ms, floor.p99_ms);
    rate = std::min(rate, ours.rate);
  }
  const json conditions = {{"slots", kLatencySlots},
                           {"submits_per_s", kRate},
                           {"submits_per_s_reached", static_cast<int>(rate)},
                           {"submit", "one HTTP request and one campaign a task, 4 clients"}};
  print(p50, conditions);
  print(p99, conditions);
}

void memory(const Plan& plan) {
  constexpr int kQueuedPerCampaign = 100'000;
  Fleet fleet(plan.dir / "ours");
  httpclient::Client client = fleet.client();
  const json conditions = {{"workers", 0}, {"campaign_of", kQueuedPerCampaign}};
  for (int campaigns = 1; campaigns <= (plan.quick ? 1 : 10); ++campaigns) {
    // Answered when every task is in the store.
    submit(client, campaign_of("memory", campaigns * kQueuedPerCampaign, kQueuedPerCampaign));
    if (campaigns != 1 && campaigns != 10) continue;
    const int queued = campaigns * kQueuedPerCampaign;
    if (fleet.metric("cupel_tasks_queued{kind=\"acquire\"}") != queued) fail("not all are queued");
    const double floor = run_floor(plan.dir, queued, 0).rss_mb;
    const std::string suffix = "_" + std::to_string(queued) + "_queued";
    print({"dispatch_memory_resident" + suffix, "MiB", {fleet.memory_mib("VmRSS")}, {floor}},
          conditions);
    print({"dispatch_memory_peak" + suffix, "MiB", {fleet.memory_mib("VmHWM")}, {floor}},
          conditions);
  }
}

int run(int argc, char** argv) {
  Plan plan;
  std::string only;
  std::uint32_t slots_only = 0;
  CLI::App app("No-op tasks from submit to durable result, against a floor with the same sockets.",
               "ops/bench dispatch");
  const auto* const rounds = app.add_option("--rounds", plan.rounds, "Rounds of floor and Cupel")
                                 ->check(CLI::PositiveNumber)
                                 ->capture_default_str();
  app.add_option("--tasks", plan.tasks, "Tasks of a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--only", only, "One of the parts")
      ->check(CLI::IsMember({"throughput", "latency", "memory"}));
  app.add_option("--slots", slots_only, "Throughput at this many slots only")
      ->check(CLI::IsMember({4, 16}));
  app.add_flag("--quick", plan.quick, "Two rounds, and no million queued tasks");
  CLI11_PARSE(app, argc, argv);
  if (plan.quick && rounds->empty()) plan.rounds = 2;
  // Not /tmp, which may be memory: both sides sync to a disk.
  plan.dir = std::filesystem::path("/var/tmp") / ("cupel-bench-" + fs::random_hex(6));
  std::filesystem::create_directory(plan.dir);
  if (only.empty() || only == "throughput") {
    for (const std::uint32_t slots : {4U, 16U}) {
      if (slots_only == 0 || slots == slots_only) throughput(plan, slots);
    }
  }
  if (only.empty() || only == "latency") latency(plan);
  if (only.empty() || only == "memory") memory(plan);
  std::filesystem::remove_all(plan.dir);
  return 0;
}

}  // namespace
}  // namespace cupel::bench

int main(int argc, char** argv) {
  return cupel::bench::run(argc, argv);
}
