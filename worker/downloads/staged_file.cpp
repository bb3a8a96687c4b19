#include "worker/downloads/staged_file.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::worker {

namespace {

constexpr std::size_t kCopyBytes = std::size_t{256} * 1024;
constexpr mode_t kStagedMode = 0444;

Error staging_failed(const std::string& what) {
  const int why = errno;
  return {.code = why == ENOSPC ? Errc::disk_full : Errc::io_error,
          .what = what,
          .detail = std::strerror(why),
          .hint = {}};
}

std::filesystem::path fresh_name(const std::filesystem::path& directory) {
  return directory / ("new-" + fs::random_hex(12));
}

fs::Fd make_file(const std::filesystem::path& path) {
  return fs::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

/// Whatever our umask says, a container's user must read it.
bool settle(const fs::Fd& file) {
  return ::fchmod(file.get(), kStagedMode) == 0 && ::fsync(file.get()) == 0;
}

}  // namespace

StagedFile::~StagedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<StagedFile> StagedFile::copy(const fs::Fd& from, const std::filesystem::path& directory,
                                    std::uint64_t bytes_max) {
  struct stat facts{};
  if (::fstat(from.get(), &facts) != 0) return staging_failed("look at a file of a module cache");
  if (!S_ISREG(facts.st_mode)) {
    return Error{Errc::bad_value, "a file of a module cache is no regular file", {}, {}};
  }
  StagedFile staged(fresh_name(directory));
  const std::string name = staged.path_.string();
  const fs::Fd to = make_file(staged.path_);
  if (!to) return staging_failed("make " + name);
  Sha256 hash;
  std::array<char, kCopyBytes> piece{};
  for (;;) {
    const ssize_t count = ::read(from.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return staging_failed("read a file of a module cache");
    if (count == 0) break;
    staged.bytes_ += static_cast<std::uint64_t>(count);
    if (staged.bytes_ > bytes_max) {
      return Error{Errc::too_large, "more than " + std::to_string(bytes_max) + " bytes", {}, {}};
    }
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(count));
    if (auto written = fs::write_all(to, bytes, name); !written) return written.error();
    hash.update(bytes);
  }
  if (!settle(to)) return staging_failed("sync " + name);
  staged.digest_ = hash.finish();
  return staged;
}

Result<StagedFile> StagedFile::write(std::string_view bytes,
                                     const std::filesystem::path& directory) {
  StagedFile staged(fresh_name(directory));
  const std::string name = staged.path_.string();
  const fs::Fd to = make_file(staged.path_);
  if (!to) return staging_failed("make " + name);
  if (auto written = fs::write_all(to, bytes, name); !written) return written.error();
  if (!settle(to)) return staging_failed("sync " + name);
  staged.bytes_ = bytes.size();
  staged.digest_ = sha256(bytes);
  return staged;
}

Result<void> StagedFile::move_to(const std::filesystem::path& place) {
  CUPEL_CRASH_POINT("download.rename");
  if (::rename(path_.c_str(), place.c_str()) != 0) {
    return staging_failed("move to " + place.string());
  }
  path_.clear();
  const auto directory = fs::open_dir(place.parent_path());
  if (!directory) return directory.error();
  if (::fsync(directory->get()) != 0) return staging_failed("sync " + place.string());
  return {};
}

}  // namespace cupel::worker
