/// The real coordinator in a folder of its own, as the benchmark sees it.
#pragma once

#include "common/httpclient/client.hpp"
#include "common/net/curve_keys.hpp"
#include "tests/bench/dispatch/sim_worker.hpp"
#include "tests/unit/coordinator_app/daemon_process.hpp"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

namespace cupel::bench {

class Fleet {
 public:
  explicit Fleet(std::filesystem::path dir);
  /// Stops the coordinator and removes the folder.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// A client for one thread; the connection stays open.
  [[nodiscard]] httpclient::Client client() const;
  [[nodiscard]] std::unique_ptr<SimWorker> worker(std::uint32_t slots, SimWorker::Hooks hooks);
  [[nodiscard]] double metric(const std::string& name) const;
  /// A line of /proc/PID/status, such as "VmHWM", in MiB.
  [[nodiscard]] double memory_mib(const std::string& line) const;

 private:
  std::filesystem::path dir_;
  net::KeyPair key_ = net::generate_key_pair();
  std::unique_ptr<coordinator::DaemonProcess> daemon_;
};

void submit(httpclient::Client& client, const std::string& campaign);
/// `count` repositories, each one task; their numbers begin with `first`.
[[nodiscard]] std::string campaign_of(const std::string& name, int first, int count);

/// Counts up; whoever waits is woken once, at the number that it waits for.
class Countdown {
 public:
  explicit Countdown(int wanted) : wanted_(wanted) {}
  void add() {
    if (++count_ != wanted_) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  void wait();

 private:
  int wanted_;
  std::atomic<int> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace cupel::bench
