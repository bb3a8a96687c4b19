/// Takes a snapshot of a vulnerability database from where people keep it. Blocking.
#pragma once

#include "common/core/error.hpp"
#include "common/core/time.hpp"
#include "common/vulndb/database.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

namespace cupel::vulndb {

using Answer = std::variant<Database, Problem>;

struct FetchSettings {
  Duration limit = std::chrono::minutes(2);
  std::string ca_bundle;  ///< PEM file; empty = the system's.
};

/// "http://..." or "https://...".
[[nodiscard]] bool is_url(std::string_view place);

/// From a folder, an archive (.zip, .tar, .tar.gz) or the URL of one. Links, special files and
/// names that don't belong into a database are refused; what an archive says about sizes is not
/// trusted. A URL gets one request with the environment's proxy, redirects only to http and https.
[[nodiscard]] Answer take_snapshot(const std::string& place, const Limits& limits = {},
                                   const FetchSettings& fetch = {});

/// From the bytes of an archive.
[[nodiscard]] Answer read_archive(std::string_view bytes, const Limits& limits = {});
[[nodiscard]] Answer read_folder(const std::filesystem::path& folder, const Limits& limits = {});

/// Writes the files below `folder` (which exists), readable by everyone and writable by nobody.
/// Problems: none of the database; errors are the disk's.
[[nodiscard]] Result<void> write_folder(const Database& database,
                                        const std::filesystem::path& folder);

}  // namespace cupel::vulndb
