/// Modules that the checksum database has proved, for all acquire and mutate runs of this worker: a
/// directory in the layout of a file module proxy. Blocking; thread-safe.
///
/// Runs see `mount()` read-only and before the proxies of the network. It holds `.info`, `.mod` and
/// `.zip` of exact versions and nothing else: lists of versions and "latest" have to be fresh, and
/// a missing file leads the go command to the next proxy. Nothing here is believed because it lies
/// here: the go command of a run checks sums as it does with any proxy.
#pragma once

#include "common/core/error.hpp"
#include "worker/core/sumdb/module_name.hpp"
#include "worker/downloads/staged_file.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker {

enum class DownloadPart : std::uint8_t { info, go_mod, zip };
inline constexpr std::size_t kDownloadParts = 3;
/// "info", "mod", "zip".
[[nodiscard]] std::string_view ending(DownloadPart part);

struct DownloadLimits {
  std::uint64_t bytes_max = 5ULL << 30U;
  std::uint64_t versions_max = 50'000;
  std::uint64_t file_bytes_max = 256ULL << 20U;
  /// After a reading of all files, to_blame() reads none for this many times as long.
  std::uint32_t recheck_pause = 20;
};

/// As it was placed.
struct CachedFile {
  std::uint64_t size = 0;
  Digest digest;
};

/// The files of one version.
struct CachedVersion {
  std::array<std::optional<CachedFile>, kDownloadParts> files{};
  std::uint64_t used = 0;  ///< Counts up with every use.
};

class DownloadCache {
 public:
  /// Opens or makes the directory (0700). Files that the index doesn't know and files of another
  /// size than it says are removed. Errors: io_error, disk_full.
  [[nodiscard]] static Result<std::unique_ptr<DownloadCache>> open(std::filesystem::path directory,
                                                                   DownloadLimits limits);

  /// What runs mount at /downloads.
  [[nodiscard]] std::filesystem::path mount() const { return directory_ / "files"; }
  /// For StagedFile: on the same file system, and never seen by a run.
  [[nodiscard]] std::filesystem::path staging() const { return directory_ / "staging"; }
  [[nodiscard]] const DownloadLimits& limits() const { return limits_; }

  [[nodiscard]] bool has(const sumdb::ModuleVersion& module, DownloadPart part) const;
  /// A run used this version: it is the last that goes.
  void used(const sumdb::ModuleVersion& module);
  /// Moves a proved file in; the same file may be placed twice. The caller has proved it. Errors:
  /// io_error, disk_full; too_large over file_bytes_max.
  [[nodiscard]] Result<void> place(const sumdb::ModuleVersion& module, DownloadPart part,
                                   StagedFile file);

  /// Removes versions with a file that is gone or has another size than it was placed with, then
  /// the least recently used ones until the limits are kept, and writes the index. Returns how many
  /// were damaged.
  Result<std::size_t> tidy();
  /// Versions that were ever found damaged, since it was opened. Never waits.
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
  /// A run failed that saw the cache while damaged() was `before` or more: was a version found
  /// damaged since, or is one now? A damaged file can be any failure of the go command, so this
  /// reads every file and compares it with the digest that it was placed with; unless the go
  /// command itself said so (`certain`), it does it a small part of the time only, and is else
  /// false.
  [[nodiscard]] Result<bool> to_blame(std::uint64_t before, bool certain);

  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::size_t versions() const;

 private:
  using Entries = std::map<sumdb::ModuleVersion, CachedVersion>;

  DownloadCache(std::filesystem::path directory, DownloadLimits limits)
      : directory_(std::move(directory)), limits_(limits) {}
  Result<void> load();
  void remove_unknown() const;
  [[nodiscard]] std::filesystem::path file_of(const sumdb::ModuleVersion& module,
                                              DownloadPart part) const;
  [[nodiscard]] bool whole(const sumdb::ModuleVersion& module, const CachedVersion& entry,
                           bool read_all) const;
  /// Under the lock.
  Result<std::size_t> remove_damaged(bool read_all);
  Entries::iterator remove(Entries::iterator entry);
  [[nodiscard]] std::string index_text() const;

  std::filesystem::path directory_;
  DownloadLimits limits_;
  mutable std::mutex lock_;
  Entries entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t uses_ = 0;
  std::atomic<std::uint64_t> damaged_ = 0;
  std::optional<std::chrono::steady_clock::time_point> quiet_until_;
};

}  // namespace cupel::worker
