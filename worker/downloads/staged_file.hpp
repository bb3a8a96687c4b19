/// A copy of ours of something that was written by others: what is judged is what is kept.
/// Blocking.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/fs/beneath.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace cupel::worker {

/// A whole, synced file, 0444, with a name that nobody guesses; removed unless it was moved away.
class StagedFile {
 public:
  /// Errors: too_large, bad_value (no regular file), disk_full, io_error.
  [[nodiscard]] static Result<StagedFile> copy(const fs::Fd& from,
                                               const std::filesystem::path& directory,
                                               std::uint64_t bytes_max);
  [[nodiscard]] static Result<StagedFile> write(std::string_view bytes,
                                                const std::filesystem::path& directory);
  StagedFile(StagedFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), bytes_(other.bytes_), digest_(other.digest_) {}
  StagedFile& operator=(StagedFile&&) = delete;
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  ~StagedFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const Digest& digest() const { return digest_; }  ///< SHA-256 of all bytes.
  /// Durable under the new name, whose directory exists; replaces what is there.
  [[nodiscard]] Result<void> move_to(const std::filesystem::path& place);

 private:
  explicit StagedFile(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::uint64_t bytes_ = 0;
  Digest digest_;
};

}  // namespace cupel::worker
