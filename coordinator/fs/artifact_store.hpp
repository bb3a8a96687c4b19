/// Content-addressed bytes on the local disk: sha256/ab/cdef..., complete and verified or not there
/// at all.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/core/limits.hpp"
#include "common/core/time.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cupel::coordinator::fs {

struct ArtifactLimits {
  std::uint64_t artifact_bytes_max = kArtifactBytesMax;
  std::uint64_t reserve_bytes = 256ULL << 20;  ///< Of the disk: kept free for the store.
  /// Another process may be receiving uploads in the same folder: what is incoming stays.
  bool shared = false;
};

struct Expiry {
  WallTime before;           ///< Artifacts that were neither written nor asked for since; 0 = none.
  WallTime partials_before;  ///< Unfinished uploads.
  std::set<Digest> keep;
  std::function<bool()> stop;  ///< May be empty; asked between files.
};
struct Expired {
  std::uint64_t removed = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t kept = 0;
  std::uint64_t kept_bytes = 0;
};

/// Blocking. Threads may share it: files appear by rename only. One partial upload per digest:
/// whoever appends at the right offset wins, and the digest decides at the end.
class ArtifactStore {
 public:
  /// Makes the folders (0700) and clears what an interrupted upload over HTTP left, unless it is
  /// shared. Errors: io_error.
  [[nodiscard]] static Result<ArtifactStore> open(std::filesystem::path dir,
                                                  ArtifactLimits limits = {});

  [[nodiscard]] std::optional<std::uint64_t> size(const Digest& digest) const;
  [[nodiscard]] std::filesystem::path path(const Digest& digest) const;
  /// It is needed from now on as if it had just come; false when it isn't here.
  bool touch(const Digest& digest) const;
  /// Removes what is old. Errors: io_error.
  [[nodiscard]] Result<Expired> expire(const Expiry& expiry) const;
  /// At most `bytes` from `offset`. Errors: not_found, io_error.
  [[nodiscard]] Result<std::string> read(const Digest& digest, std::uint64_t offset,
                                         std::size_t bytes) const;

  /// Clears what an interrupted upload over HTTP left, when nobody else receives any. Errors:
  /// io_error.
  [[nodiscard]] Result<void> clear_incoming() const;

  // Resumable uploads (bulk plane).
  struct Opened {
    std::uint64_t offset = 0;  ///< What an earlier upload left.
    bool complete = false;
  };
  /// Errors: too_large, disk_full, io_error.
  [[nodiscard]] Result<Opened> open_put(const Digest& digest, std::uint64_t size);
  /// `offset` must be where the file ends. Errors: conflict, too_large, disk_full, io_error.
  [[nodiscard]] Result<void> append(const Digest& digest, std::uint64_t offset,
                                    std::string_view bytes);
  /// Verifies, syncs, renames. Errors: artifact_mismatch (drops what came), io_error.
  [[nodiscard]] Result<void> finish_put(const Digest& digest);

  /// One upload in one go, hashed as it comes; nothing of it stays unless finish() succeeds.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;
    [[nodiscard]] Result<void> write(std::string_view bytes);
    /// Errors: artifact_mismatch, io_error.
    [[nodiscard]] Result<std::uint64_t> finish();

   private:
    friend class ArtifactStore;
    Upload(const ArtifactStore& store, Digest expected, std::filesystem::path file, int fd);
    const ArtifactStore& store_;
    Digest expected_;
    std::filesystem::path file_;
    int fd_ = -1;
    std::uint64_t bytes_ = 0;
    Sha256 hash_;
  };
  /// The store outlives the upload.
  [[nodiscard]] Result<std::unique_ptr<Upload>> upload(const Digest& expected) const;

 private:
  ArtifactStore(std::filesystem::path dir, ArtifactLimits limits);
  [[nodiscard]] std::filesystem::path partial(const Digest& digest) const;
  [[nodiscard]] Result<void> room_for(std::uint64_t bytes) const;
  [[nodiscard]] Result<void> publish(const std::filesystem::path& file, int fd,
                                     const Digest& digest) const;

  std::filesystem::path dir_;
  ArtifactLimits limits_;
};

}  // namespace cupel::coordinator::fs
