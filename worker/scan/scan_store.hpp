/// Scanners and databases that this worker has, by the digest of their content. Nothing is ever
/// written into a directory that was given out, and none is made again under its old name.
/// Blocking; any thread: directories appear by rename only.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::worker {

class ScanStore {
 public:
  explicit ScanStore(std::filesystem::path directory) : root_(std::move(directory)) {}

  /// The directory to mount as /tools or /vulndb, its content proved now; nothing where there is
  /// none (one that was changed is removed).
  [[nodiscard]] std::optional<std::string> find_scanner(const Digest& binary) const;
  [[nodiscard]] std::optional<std::string> find_database(std::string_view id) const;

  /// A path for a download: unique, not existing, on the same file system. The caller removes it.
  [[nodiscard]] Result<std::string> new_file() const;
  /// Keeps a copy of the program. Errors: artifact_mismatch, too_large, io_error, disk_full.
  [[nodiscard]] Result<std::string> keep_scanner(const std::string& file,
                                                 const Digest& binary) const;
  /// Unpacks and checks a tar. Errors: artifact_mismatch (another content or time, or no database
  /// at all), too_large, io_error, disk_full.
  [[nodiscard]] Result<std::string> keep_database(const std::string& tar, std::string_view id,
                                                  std::string_view time) const;

 private:
  enum class Kind : std::uint8_t { scanner, database };
  [[nodiscard]] std::filesystem::path folder(Kind kind) const;
  template <typename Proves>
  [[nodiscard]] std::optional<std::string> find(Kind kind, std::string_view name,
                                                Proves proves) const;
  template <typename Fill>
  [[nodiscard]] Result<std::string> keep(Kind kind, std::string_view name, Fill fill) const;
  void drop_unused(Kind kind) const;

  std::filesystem::path root_;
};

inline constexpr std::uint64_t kScannerBytesMax = 256ULL << 20;
inline constexpr std::uint64_t kDatabaseTarBytesMax = 384ULL << 20;
inline constexpr std::string_view kScannerName = "govulncheck";

}  // namespace cupel::worker
