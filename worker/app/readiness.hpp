/// Whether this worker takes tasks, told to whoever asks: /-/ready, the service manager, and once
/// the ready file.
#pragma once

#include "common/core/ids.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace cupel::worker {

/// Belongs to the control loop; ready() is for any thread.
class Readiness {
 public:
  /// `ready_file`: empty = none.
  explicit Readiness(std::string ready_file) : ready_file_(std::move(ready_file)) {}

  [[nodiscard]] bool ready() const { return ready_; }

  /// The process is up, which is what the service manager's start waits for: the coordinator may be
  /// away for long.
  static void running();
  static void stopping();

  struct Facts {
    WorkerId worker;
    std::uint32_t slots = 0;
    std::string metrics;  ///< Address; empty = none.
  };
  void takes_tasks(const Facts& facts);
  void takes_none();

 private:
  std::string ready_file_;
  std::atomic<bool> ready_{false};
  bool announced_ = false;
};

}  // namespace cupel::worker
