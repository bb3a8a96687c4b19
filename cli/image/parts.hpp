/// The two parts of an assembled image on disk: the Debian base and the toolchain's zip. Blocking.
#pragma once

#include "common/core/digest.hpp"
#include "common/core/error.hpp"
#include "common/images/table.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cupel::cli {

/// Progress for people, one line without its end.
using Note = std::function<void(std::string_view)>;

struct PartsPlace {
  std::filesystem::path dir;                       ///< Private; archives are kept here.
  std::map<std::string, std::string> environment;  ///< The user's.
  Note note;
};

struct BaseArchive {
  std::filesystem::path file;  ///< Uncompressed tar of a root file system.
  Digest digest;
  bool made_now = false;
};

/// The archive kept from before when its bytes are still those that were written, else a new one
/// from the host's Debian 12 package sources (or `mirror`). Errors: not_found (no such program, no
/// archive source), process_failed, io_error.
[[nodiscard]] Result<BaseArchive> ensure_base(const PartsPlace& place, bool with_cc,
                                              std::string_view mirror, bool fresh);
/// The archive kept from before. Errors: not_found, io_error.
[[nodiscard]] Result<BaseArchive> kept_base(const PartsPlace& place, bool with_cc);

/// The official toolchain's module zip, fetched by the host's go command through its configured
/// proxy, and checked against the sum pinned in the table. Errors: not_found (no go command, no
/// proxy), process_failed, artifact_mismatch.
[[nodiscard]] Result<std::filesystem::path> ensure_toolchain(const PartsPlace& place,
                                                             const images::ImageEntry& entry);

/// Digest of a file of any size. Errors: not_found, io_error.
[[nodiscard]] Result<Digest> file_digest(const std::filesystem::path& file);

/// Is the zip the one that the table pins? By its digest, else by the sum over its files.
/// Errors: artifact_mismatch, io_error.
[[nodiscard]] Result<void> check_toolchain_zip(const std::filesystem::path& zip,
                                               const images::ToolchainModule& module);

}  // namespace cupel::cli
