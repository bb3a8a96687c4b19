/// Files of ours on the host: private directories, durable writes, locks. Blocking; no thread of
/// its own.
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cupel::fs {

/// Creates the directory (and its parents, 0755) or tightens it: 0700, owned by us, no symlink.
[[nodiscard]] Result<void> ensure_private_dir(const std::filesystem::path& dir);

/// Whole file, at most `bytes_max`. Errors: not_found, too_large, io_error.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& file,
                                            std::uint64_t bytes_max);

/// Like read_file, for secrets: refuses a file that group or others can read (key_permissions), a
/// link and a file of another user (root may read those of others).
[[nodiscard]] Result<std::string> read_secret(const std::filesystem::path& file,
                                              std::uint64_t bytes_max);

/// Writes beside the file, syncs, renames over it, syncs the directory: after a crash there is the
/// old content or the new one. `mode` such as 0600.
[[nodiscard]] Result<void> write_file_durably(const std::filesystem::path& file,
                                              std::string_view bytes, unsigned mode);

/// Creates the file, which must not exist (already_exists); durable.
[[nodiscard]] Result<void> create_file_durably(const std::filesystem::path& file,
                                               std::string_view bytes, unsigned mode);

/// Removes a file or a whole tree; missing is success. Never follows links. Makes directories
/// writable first where we own them.
[[nodiscard]] Result<void> remove_tree(const std::filesystem::path& path);

/// A flock on a file, held as long as the object lives.
class FileLock {
 public:
  /// Exclusive. Errors: locked (with the process id that holds it, where the file says one),
  /// io_error.
  [[nodiscard]] static Result<FileLock> take(const std::filesystem::path& file);
  /// Together with other sharers, never beside take(). Errors: locked, io_error.
  [[nodiscard]] static Result<FileLock> share(const std::filesystem::path& file);
  /// Alone from here on, if no other sharer holds it now.
  [[nodiscard]] bool try_alone();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

struct Space {
  std::uint64_t bytes_free = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t inodes_free = 0;
  std::uint64_t inodes_total = 0;
};
[[nodiscard]] Result<Space> space_of(const std::filesystem::path& path);

/// Random bytes from the kernel as hex: names that nobody guesses.
[[nodiscard]] std::string random_hex(std::size_t bytes);
[[nodiscard]] std::uint64_t random_u64();

}  // namespace cupel::fs
