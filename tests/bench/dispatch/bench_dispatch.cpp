// From submit to durable result through the real coordinator: HTTP, store, CURVE, and workers that
// answer at once. One JSON object a line. Arguments: [--quick] leaves out the million queued tasks.
#include "common/fs/files.hpp"
#include "common/httpclient/client.hpp"
#include "common/net/trust_list.hpp"
#include "tests/bench/dispatch/sim_worker.hpp"
#include "tests/unit/coordinator_app/daemon_process.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cupel::bench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kTasks = 40'000;
constexpr int kRate = 200;
constexpr int kRateSeconds = 15;
constexpr int kPosters = 4;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench dispatch: %s\n", what.c_str());
  std::exit(1);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Floor {
  double tasks_s = 0;
  double cpu_s_per_1k = 0;
};

Floor run_floor(const std::filesystem::path& dir, int slots) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cupel_floor_dispatch")
          .string();
  const std::string command = "'" + program + "' " + std::to_string(kTasks) + " " +
                              std::to_string(slots) + " '" +
                              (dir / ("floor" + std::to_string(slots) + ".db")).string() + "'";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) fail("the floor does not start");
  std::array<char, 512> line{};
  const char* got = std::fgets(line.data(), line.size(), pipe);
  if (::pclose(pipe) != 0 || got == nullptr) fail("the floor failed");
  const json parsed = json::parse(line.data());
  return {parsed["tasks_s"], parsed["cpu_s_per_1k"]};
}

void print(const std::string& name, double value, const char* unit, double floor,
           const std::string& conditions) {
  json line = {{"name", name}, {"value", value}, {"unit", unit}, {"conditions", conditions}};
  if (floor > 0) {
    line["floor"] = floor;
    line["ratio"] = value / floor;
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

std::string campaign_of(const std::string& name, int first, int count) {
  std::string text =
      R"({"apiVersion":"cupel/v1","kind":"Campaign","name":")" + name + R"(","repositories":[)";
  for (int i = first; i < first + count; ++i) {
    text += (i == first ? "" : ",") + std::string(R"({"module":"example.com/m)") +
            std::to_string(i) + R"(@v1.0.0"})";
  }
  return text + "]}";
}

/// A coordinator with a folder of its own.
class Fleet {
 public:
  explicit Fleet(const std::filesystem::path& dir) : dir_(dir) {
    std::filesystem::create_directory(dir_);
    if (auto added = net::add_trusted(dir_ / "trusted", key_.public_key, {"simulated", {}});
        !added) {
      fail(added.error().text());
    }
    daemon_ = std::make_unique<coordinator::DaemonProcess>(
        dir_, std::vector<std::string>{"--heartbeat-ms=2000", "--lease-ms=30000"});
    if (!daemon_->wait_until_ready()) fail(daemon_->log());
  }
  httpclient::Client client() const {
    httpclient::Options options;
    options.base_url = "http://" + daemon_->ready()["http"].get<std::string>();
    options.token = daemon_->token();
    options.idle = std::chrono::minutes(5);
    return httpclient::Client(options);
  }
  void submit(const std::string& text) const {
    if (const auto answer = client().post("/api/v1/campaigns", text); !answer)
      fail(answer.error().text());
  }
  std::unique_ptr<SimWorker> worker(std::uint32_t slots, SimWorker::Hooks hooks) {
    return std::make_unique<SimWorker>(daemon_->ready()["control"].get<std::string>(),
                                       daemon_->ready()["public_key"].get<std::string>(), key_,
                                       slots, std::move(hooks));
  }
  double metric(const std::string& name) const {
    const auto answer = client().send("GET", "/metrics");
    if (!answer) fail(answer.error().text());
    const std::size_t at = answer->body.find("\n" + name + " ");
    if (at == std::string::npos) fail("no metric " + name);
    return std::strtod(answer->body.c_str() + at + name.size() + 2, nullptr);
  }

 private:
  std::filesystem::path dir_;
  net::KeyPair key_ = net::generate_key_pair();
  std::unique_ptr<coordinator::DaemonProcess> daemon_;
};

/// Counts up to a number; waits for it.
class Countdown {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(10), [&] { return count_ >= count; }))
      fail("no progress");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

void throughput(const std::filesystem::path& dir, std::uint32_t slots) {
  const Floor floor = run_floor(dir, static_cast<int>(slots));
  Fleet fleet(dir / ("throughput" + std::to_string(slots)));
  Countdown welcome;
  Countdown acknowledged;
  const auto worker = fleet.worker(
      slots, {[&] { welcome.add(); }, {}, [&](const ResultAck&) { acknowledged.add(); }});
  welcome.wait_for(1);
  const double cpu = fleet.metric("process_cpu_seconds_total");
  const auto started = Clock::now();
  fleet.submit(campaign_of("throughput", 0, kTasks));
  acknowledged.wait_for(kTasks);
  const double took = seconds_since(started);
  const double used = fleet.metric("process_cpu_seconds_total") - cpu;
  const std::string conditions = std::to_string(slots) + " slots, " + std::to_string(kTasks) +
                                 " tasks, one worker, CURVE, synchronous=FULL";
  print("dispatch_tasks_per_second_" + std::to_string(slots) + "_slots", kTasks / took, "tasks/s",
        floor.tasks_s, conditions);
  print("dispatch_coordinator_cpu_per_1000_tasks_" + std::to_string(slots) + "_slots",
        used / kTasks * 1000, "s", floor.cpu_s_per_1k, conditions);
}

void latency(const std::filesystem::path& dir) {
  Fleet fleet(dir / "latency");
  std::mutex mutex;
  std::map<std::string, Clock::time_point> submitted;
  std::vector<double> waits;
  Countdown welcome;
  Countdown acknowledged;
  const auto leased = [&](const Lease& lease) {
    const auto* source = std::get_if<AcquireSource>(&lease.spec.work);
    const auto* module = source == nullptr ? nullptr : std::get_if<ModuleSource>(&source->source);
    const std::lock_guard lock(mutex);
    if (module != nullptr && submitted.contains(module->path)) {
      waits.push_back(seconds_since(submitted[module->path]) * 1000);
    }
  };
  const auto worker = fleet.worker(
      16, {[&] { welcome.add(); }, leased, [&](const ResultAck&) { acknowledged.add(); }});
  welcome.wait_for(1);
  const auto start = Clock::now();
  const int total = kRate * kRateSeconds;
  std::vector<std::thread> posters;
  for (int poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&, poster] {
      for (int i = poster; i < total; i += kPosters) {
        std::this_thread::sleep_until(start + std::chrono::microseconds(1'000'000LL * i / kRate));
        {
          const std::lock_guard lock(mutex);
          submitted["example.com/m" + std::to_string(i)] = Clock::now();
        }
        fleet.submit(campaign_of("latency", i, 1));
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  acknowledged.wait_for(total);
  const double rate = total / seconds_since(start);
  const std::lock_guard lock(mutex);
  std::ranges::sort(waits);
  const auto percentile = [&](double p) {
    return waits[static_cast<std::size_t>(p * static_cast<double>(waits.size() - 1))];
  };
  const std::string conditions =
      std::to_string(static_cast<int>(rate)) + " submits/s over HTTP, one task each, 16 slots";
  print("dispatch_submit_to_start_p50", percentile(0.5), "ms", 0, conditions);
  print("dispatch_submit_to_start_p99", percentile(0.99), "ms", 0, conditions);
}

void memory(const std::filesystem::path& dir, bool quick) {
  constexpr int kPerCampaign = 100'000;
  Fleet fleet(dir / "memory");
  for (int campaign = 1; campaign <= (quick ? 1 : 10); ++campaign) {
    fleet.submit(campaign_of("memory", campaign * kPerCampaign, kPerCampaign));
    const double wanted = static_cast<double>(campaign) * kPerCampaign;
    while (fleet.metric("cupel_tasks_queued{kind=\"acquire\"}") < wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    if (campaign == 1 || campaign == 10) {
      print("dispatch_memory_" + std::to_string(campaign * kPerCampaign) + "_queued",
            fleet.metric("process_resident_memory_bytes") / (1024.0 * 1024.0), "MiB", 0,
            "resident, no worker");
    }
  }
}

}  // namespace
}  // namespace cupel::bench

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string(argv[1]) == "--quick";
  const auto dir =
      std::filesystem::temp_directory_path() / ("cupel-bench-" + cupel::fs::random_hex(6));
  std::filesystem::create_directory(dir);
  for (const std::uint32_t slots : {4U, 16U}) cupel::bench::throughput(dir, slots);
  cupel::bench::latency(dir);
  cupel::bench::memory(dir, quick);
  std::filesystem::remove_all(dir);
  return 0;
}
