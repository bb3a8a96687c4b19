#include "common/fs/files.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/beneath.hpp"
#include "common/fs/remove_tree.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <span>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::fs {
namespace {

Error system_error(const std::string& what, int error) {
  const Errc code = error == ENOENT                      ? Errc::not_found
                    : error == EEXIST                    ? Errc::already_exists
                    : error == ENOSPC || error == EDQUOT ? Errc::disk_full
                                                         : Errc::io_error;
  return {.code = code, .what = "can't " + what, .detail = std::strerror(error), .hint = {}};
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error("write " + name, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> sync_dir(const std::filesystem::path& dir) {
  const Fd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return system_error("open directory " + dir.string(), errno);
  if (::fsync(fd.get()) != 0) return system_error("sync directory " + dir.string(), errno);
  return {};
}

Result<void> write_new(const std::filesystem::path& file, std::string_view bytes, unsigned mode) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (fd.get() < 0) return system_error("create " + file.string(), errno);
  if (auto written = write_all(fd.get(), bytes, file.string()); !written) return written;
  if (::fchmod(fd.get(), mode) != 0) return system_error("chmod " + file.string(), errno);
  if (::fsync(fd.get()) != 0) return system_error("sync " + file.string(), errno);
  return {};
}

Result<std::string> read_open(int fd, const std::filesystem::path& file, std::uint64_t bytes_max) {
  std::string content;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error("read " + file.string(), errno);
    }
    if (n == 0) return content;
    content.append(piece.data(), static_cast<std::size_t>(n));
    if (content.size() > bytes_max) {
      return Error{
          .code = Errc::too_large,
          .what = file.string() + " is larger than " + std::to_string(bytes_max) + " bytes",
          .detail = {},
          .hint = {}};
    }
  }
}

std::filesystem::path parent_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace

Result<void> ensure_private_dir(const std::filesystem::path& dir) {
  std::error_code ec;
  std::filesystem::create_directories(parent_of(dir), ec);
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error("create directory " + dir.string(), errno);
  }
  const Fd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) return system_error("open directory " + dir.string(), errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return system_error("stat " + dir.string(), errno);
  if (info.st_uid != ::geteuid()) {
    return Error{.code = Errc::io_error,
                 .what = "directory " + dir.string() + " belongs to another user",
                 .detail = {},
                 .hint = "choose a directory of your own"};
  }
  if ((info.st_mode & 077U) != 0 && ::fchmod(fd.get(), 0700) != 0) {
    return system_error("chmod " + dir.string(), errno);
  }
  return {};
}

Result<std::string> read_file(const std::filesystem::path& file, std::uint64_t bytes_max) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return system_error("open " + file.string(), errno);
  return read_open(fd.get(), file, bytes_max);
}

Result<std::string> read_secret(const std::filesystem::path& file, std::uint64_t bytes_max) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) return system_error("open " + file.string(), errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return system_error("stat " + file.string(), errno);
  // Root may look at the secret of a service's user, as it does when it hands keys around.
  const bool mine = info.st_uid == ::geteuid() || ::geteuid() == 0;
  if (!S_ISREG(info.st_mode) || (info.st_mode & 077U) != 0 || !mine) {
    return Error{.code = Errc::key_permissions,
                 .what = file.string() +
                         " holds a secret and must be a plain file of yours that only you "
                         "can read",
                 .detail = {},
                 .hint = "chmod 600 " + file.string()};
  }
  return read_open(fd.get(), file, bytes_max);
}

Result<void> write_file_durably(const std::filesystem::path& file, std::string_view bytes,
                                unsigned mode) {
  const std::filesystem::path beside = file.string() + "." + random_hex(6) + ".new";
  auto written = write_new(beside, bytes, mode);
  if (!written) {
    ::unlink(beside.c_str());
    return written;
  }
  CUPEL_CRASH_POINT("file.rename");
  if (::rename(beside.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(beside.c_str());
    return system_error("rename to " + file.string(), error);
  }
  CUPEL_CRASH_POINT("file.renamed");
  return sync_dir(parent_of(file));
}

Result<void> create_file_durably(const std::filesystem::path& file, std::string_view bytes,
                                 unsigned mode) {
  if (auto written = write_new(file, bytes, mode); !written) return written;
  return sync_dir(parent_of(file));
}

Result<void> remove_tree(const std::filesystem::path& path) {
  return remove_whole_tree(path);
}

Result<FileLock> FileLock::take(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd.get() < 0) return system_error("open lock " + file.string(), errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 64> holder{};
    const ssize_t n = ::read(fd.get(), holder.data(), holder.size() - 1);
    return Error{.code = Errc::locked,
                 .what = "another process uses " + parent_of(file).string(),
                 .detail = n > 0 ? "held by process " +
                                       std::string(holder.data(), static_cast<std::size_t>(n))
                                 : std::string(),
                 .hint = {}};
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0) {
    return system_error("write lock " + file.string(), errno);
  }
  return FileLock(fd.release());
}

Result<FileLock> FileLock::share(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd.get() < 0) return system_error("open lock " + file.string(), errno);
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    return Error{.code = Errc::locked,
                 .what = "another process works on " + parent_of(file).string() + " alone",
                 .detail = {},
                 .hint = {}};
  }
  return FileLock(fd.release());
}

bool FileLock::try_alone() {
  return ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Space> space_of(const std::filesystem::path& path) {
  struct statvfs info{};
  if (::statvfs(path.c_str(), &info) != 0) return system_error("statvfs " + path.string(), errno);
  const std::uint64_t block = info.f_frsize;
  return Space{.bytes_free = info.f_bavail * block,
               .bytes_total = info.f_blocks * block,
               .inodes_free = info.f_favail,
               .inodes_total = info.f_files};
}

std::string random_hex(std::size_t bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::vector<unsigned char> raw(bytes);
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t n = ::getrandom(&raw[have], bytes - have, 0);
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  std::string text;
  for (const unsigned char byte : raw) {
    text.push_back(kHex[byte >> 4U]);
    text.push_back(kHex[byte & 15U]);
  }
  return text;
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  while (::getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

}  // namespace cupel::fs
