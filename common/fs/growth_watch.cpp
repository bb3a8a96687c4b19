#include "common/fs/growth_watch.hpp"

#include "common/fs/files.hpp"

#include <chrono>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::fs {

namespace {

constexpr std::int64_t kWalkPeriodMs = 2000;
constexpr std::uint64_t kBlockBytes =
    512;  // unit of st_blocks, whatever the file system's blocks are

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Adds what is below a directory. Never follows links; what vanishes meanwhile doesn't count.
void add_tree(int parent, const char* name, DiskUsage& usage, int depth) {
  constexpr int kDepthMax = 64;
  if (depth > kDepthMax) return;
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  DIR* const entries = fdopendir(fd);
  if (entries == nullptr) {
    close(fd);
    return;
  }
  while (const dirent* const entry = readdir(entries)) {
    const std::string_view child = entry->d_name;
    if (child == "." || child == "..") continue;
    struct stat facts{};
    if (fstatat(fd, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    usage.bytes += static_cast<std::uint64_t>(facts.st_blocks) * kBlockBytes;
    usage.inodes += 1;
    if (S_ISDIR(facts.st_mode)) add_tree(fd, entry->d_name, usage, depth + 1);
  }
  closedir(entries);
}

std::uint64_t growth(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

}  // namespace

GrowthWatch::GrowthWatch(std::vector<std::string> roots, GrowthBudget budget)
    : roots_(std::move(roots)), budget_(budget), before_(measure()), last_(before_) {
  if (roots_.empty()) return;
  if (const auto space = space_of(roots_.front())) {
    free_bytes_at_walk_ = space->bytes_free;
    free_inodes_at_walk_ = space->inodes_free;
  }
  walked_at_ms_ = now_ms();
}

DiskUsage usage_of(const std::vector<std::string>& roots) {
  DiskUsage usage;
  for (const std::string& root : roots) add_tree(AT_FDCWD, root.c_str(), usage, 0);
  return usage;
}

std::optional<std::string> GrowthWatch::judge(const DiskUsage& usage) const {
  if (growth(usage.bytes, before_.bytes) > budget_.bytes) {
    return "the writable directories grew by more than " + std::to_string(budget_.bytes) + " bytes";
  }
  if (growth(usage.inodes, before_.inodes) > budget_.inodes) {
    return "the writable directories grew by more than " + std::to_string(budget_.inodes) +
           " files";
  }
  return std::nullopt;
}

std::optional<std::string> GrowthWatch::overrun() {
  if (roots_.empty()) return std::nullopt;
  const auto space = space_of(roots_.front());
  if (!space) return std::nullopt;
  if (space->bytes_free < budget_.reserve_bytes) {
    return "the file system has less than " + std::to_string(budget_.reserve_bytes) + " bytes left";
  }
  const DiskUsage bound{last_.bytes + growth(free_bytes_at_walk_, space->bytes_free),
                        last_.inodes + growth(free_inodes_at_walk_, space->inodes_free)};
  const std::int64_t now = now_ms();
  if (!judge(bound) && now - walked_at_ms_ < kWalkPeriodMs) return std::nullopt;
  last_ = measure();
  free_bytes_at_walk_ = space->bytes_free;
  free_inodes_at_walk_ = space->inodes_free;
  walked_at_ms_ = now;
  return judge(last_);
}

}  // namespace cupel::fs
