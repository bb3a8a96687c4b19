/// How much a run's writable mounts have grown. Blocking; one user at a time.
#pragma once

#include "worker/run/run_executor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::worker {

class MountWatch {
 public:
  /// Takes the measure of what is there already: only growth counts.
  MountWatch(std::vector<std::string> roots, MountBudget budget);

  /// Why the run must end; nothing while all is well. Cheap most of the time: the free space of the
  /// file system bounds the growth, so the trees are walked only when it allows an overrun, and
  /// every kWalkPeriod because another run's cleanup can hide a growth.
  [[nodiscard]] std::optional<std::string> overrun();

 private:
  struct Usage {
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;
  };
  [[nodiscard]] Usage measure() const;
  [[nodiscard]] std::optional<std::string> judge(const Usage& usage) const;

  std::vector<std::string> roots_;
  MountBudget budget_;
  Usage before_;
  Usage last_;
  std::uint64_t free_bytes_at_walk_ = 0;
  std::uint64_t free_inodes_at_walk_ = 0;
  std::int64_t walked_at_ms_ = 0;
};

}  // namespace cupel::worker
