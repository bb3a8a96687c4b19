/// How much some directories have grown. Blocking; one user at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::fs {

/// What they may grow to. Whoever watches ends what makes them grow within a quarter of a second.
struct GrowthBudget {
  std::uint64_t bytes = 8ULL << 30;
  std::uint64_t inodes = 1'000'000;
  /// The file system that holds them keeps at least this much free.
  std::uint64_t reserve_bytes = 2ULL << 30;
};

struct DiskUsage {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
};
/// What lies below these directories now. Never follows links.
[[nodiscard]] DiskUsage usage_of(const std::vector<std::string>& roots);

class GrowthWatch {
 public:
  /// Takes the measure of what is there already: only growth counts.
  GrowthWatch(std::vector<std::string> roots, GrowthBudget budget);

  /// Why it must end; nothing while all is well. Cheap most of the time: the free space of the
  /// file system bounds the growth, so the trees are walked only when it allows an overrun, and
  /// every kWalkPeriod because another run's cleanup can hide a growth.
  [[nodiscard]] std::optional<std::string> overrun();

 private:
  [[nodiscard]] DiskUsage measure() const { return usage_of(roots_); }
  [[nodiscard]] std::optional<std::string> judge(const DiskUsage& usage) const;

  std::vector<std::string> roots_;
  GrowthBudget budget_;
  DiskUsage before_;
  DiskUsage last_;
  std::uint64_t free_bytes_at_walk_ = 0;
  std::uint64_t free_inodes_at_walk_ = 0;
  std::int64_t walked_at_ms_ = 0;
};

}  // namespace cupel::fs
