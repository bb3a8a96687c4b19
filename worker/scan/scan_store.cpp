#include "worker/scan/scan_store.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"
#include "common/vulndb_io/take.hpp"

#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;

constexpr auto kUnused = std::chrono::hours(24 * 7);
constexpr std::size_t kShortName = 32;

Error mismatch(std::string what) {
  return {.code = Errc::artifact_mismatch, .what = std::move(what), .detail = {}, .hint = {}};
}

/// The limits of the tar are those of its content.
vulndb::Limits unpacking() {
  vulndb::Limits limits;
  limits.archive_bytes = kDatabaseTarBytesMax;
  return limits;
}

bool is_scanner(const stdfs::path& directory, const Digest& binary) {
  const auto bytes = fs::read_file(directory / kScannerName, kScannerBytesMax);
  return bytes && sha256(*bytes) == binary;
}

bool is_database(const stdfs::path& directory, std::string_view id) {
  const auto read = vulndb::read_folder(directory);
  const auto* database = std::get_if<vulndb::Database>(&read);
  return database != nullptr && database->id == id;
}

}  // namespace

stdfs::path ScanStore::folder(Kind kind) const {
  return root_ / (kind == Kind::scanner ? "tools" : "vulndb");
}

template <typename Proves>
std::optional<std::string> ScanStore::find(Kind kind, std::string_view name, Proves proves) const {
  const std::string prefix = std::string(name.substr(0, kShortName)) + "-";
  std::error_code failure;
  for (stdfs::directory_iterator item(folder(kind), failure), end; !failure && item != end;
       item.increment(failure)) {
    if (!item->path().filename().string().starts_with(prefix)) continue;
    if (proves(item->path())) {
      ::utimensat(AT_FDCWD, item->path().c_str(), nullptr, 0);  // used: it stays a while
      return item->path().string();
    }
    (void)fs::remove_tree(item->path());
  }
  return std::nullopt;
}

template <typename Fill>
Result<std::string> ScanStore::keep(Kind kind, std::string_view name, Fill fill) const {
  for (const stdfs::path& directory : {root_, folder(kind)}) {
    if (auto made = fs::ensure_private_dir(directory); !made) return made.error();
  }
  drop_unused(kind);
  const std::string unique = std::string(name.substr(0, kShortName)) + "-" + fs::random_hex(6);
  const stdfs::path half = folder(kind) / ("new-" + unique);
  const stdfs::path whole = folder(kind) / unique;
  if (auto made = fs::ensure_private_dir(half); !made) return made.error();
  Result<void> filled = fill(half);
  CUPEL_CRASH_POINT("scan.rename");
  if (filled && (::chmod(half.c_str(), 0555) != 0 || ::rename(half.c_str(), whole.c_str()) != 0)) {
    filled =
        Error{.code = Errc::io_error, .what = "keep " + whole.string(), .detail = {}, .hint = {}};
  }
  if (!filled) {
    (void)fs::remove_tree(half);
    return filled.error();
  }
  return whole.string();
}

void ScanStore::drop_unused(Kind kind) const {
  std::error_code failure;
  for (stdfs::directory_iterator item(folder(kind), failure), end; !failure && item != end;
       item.increment(failure)) {
    std::error_code ignored;
    const auto used = item->last_write_time(ignored);
    if (!ignored && stdfs::file_time_type::clock::now() - used > kUnused) {
      (void)fs::remove_tree(item->path());
    }
  }
}

std::optional<std::string> ScanStore::find_scanner(const Digest& binary) const {
  return find(Kind::scanner, binary.hex(),
              [&](const stdfs::path& directory) { return is_scanner(directory, binary); });
}

std::optional<std::string> ScanStore::find_database(std::string_view id) const {
  return find(Kind::database, id,
              [&](const stdfs::path& directory) { return is_database(directory, id); });
}

Result<std::string> ScanStore::new_file() const {
  if (auto made = fs::ensure_private_dir(root_); !made) return made.error();
  return (root_ / ("download-" + fs::random_hex(8))).string();
}

Result<std::string> ScanStore::keep_scanner(const std::string& file, const Digest& binary) const {
  const auto bytes = fs::read_file(file, kScannerBytesMax);
  if (!bytes) return bytes.error();
  if (sha256(*bytes) != binary) return mismatch("the scanner is another one than was asked for");
  return keep(Kind::scanner, binary.hex(), [&](const stdfs::path& directory) -> Result<void> {
    const stdfs::path place = directory / kScannerName;
    if (auto written = fs::create_file_durably(place, *bytes, 0600); !written) return written;
    if (::chmod(place.c_str(), 0555) != 0) {
      return Error{
          .code = Errc::io_error, .what = "chmod " + place.string(), .detail = {}, .hint = {}};
    }
    return {};
  });
}

Result<std::string> ScanStore::keep_database(const std::string& tar, std::string_view id,
                                             std::string_view time) const {
  const auto bytes = fs::read_file(tar, kDatabaseTarBytesMax);
  if (!bytes) return bytes.error();
  const auto read = vulndb::read_archive(*bytes, unpacking());
  if (const auto* problem = std::get_if<vulndb::Problem>(&read)) return mismatch(problem->message);
  const auto& database = std::get<vulndb::Database>(read);
  if (database.id != id || database.time != time) {
    return mismatch("the vulnerability database is another one than was asked for");
  }
  return keep(Kind::database, id, [&](const stdfs::path& directory) {
    return vulndb::write_folder(database, directory);
  });
}

}  // namespace cupel::worker
