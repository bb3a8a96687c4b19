/// Whether the coordinator is ready, for health checks.
#pragma once

#include <mutex>
#include <string>
#include <utility>

namespace cupel::coordinator {

/// Why it is not ready; empty once it is. Thread-safe.
class Readiness {
 public:
  void set(std::string why) {
    const std::lock_guard lock(mutex_);
    why_ = std::move(why);
  }
  [[nodiscard]] std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  mutable std::mutex mutex_;
  std::string why_ = "the coordinator is starting";
};

}  // namespace cupel::coordinator
