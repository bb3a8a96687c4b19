/// Writes one packfile, object by object. Same objects in the same order give the same bytes.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/fs/beneath.hpp"
#include "common/gitfmt/object.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

namespace cupel::source {

/// Removes its file unless finish() succeeded.
class PackWriter {
 public:
  /// Errors: already_exists, io_error.
  [[nodiscard]] static Result<PackWriter> create(const std::filesystem::path& file,
                                                 std::uint64_t bytes_max);
  PackWriter(PackWriter&&) noexcept = default;
  PackWriter& operator=(PackWriter&&) = delete;
  ~PackWriter();

  /// An object that is in the pack already is not written again. Errors: too_large, disk_full,
  /// io_error.
  [[nodiscard]] Result<gitfmt::ObjectId> add(gitfmt::ObjectType type, std::string_view bytes);

  struct Finished {
    Digest digest;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Result<Finished> finish();

 private:
  PackWriter(std::filesystem::path file, fs::Fd fd, std::uint64_t bytes_max);
  [[nodiscard]] Result<void> append(std::string_view bytes);

  std::filesystem::path file_;
  fs::Fd fd_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint32_t objects_ = 0;
  std::set<gitfmt::ObjectId> known_;
  bool finished_ = false;
};

}  // namespace cupel::source
