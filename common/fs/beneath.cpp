#include "common/fs/beneath.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::fs {
namespace {

Error failed(const std::string& what, int error) {
  Errc code = Errc::io_error;
  if (error == ENOENT || error == ENOTDIR) code = Errc::not_found;
  if (error == EEXIST) code = Errc::already_exists;
  if (error == ELOOP) code = Errc::bad_value;
  if (error == ENOSPC || error == EDQUOT) code = Errc::disk_full;
  return {code, what, std::strerror(error), {}};
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Fd> open_dir(const std::filesystem::path& dir) {
  Fd fd(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return failed("open " + dir.string(), errno);
  return fd;
}

Result<Fd> open_beneath(const Fd& dir, std::string_view relative, int flags, mode_t mode) {
  Fd parent;
  int at = dir.get();
  std::string_view rest = relative;
  while (true) {
    const auto slash = rest.find('/');
    const std::string name{rest.substr(0, slash)};
    if (name.empty() || name == "." || name == "..") {
      return Error{
          Errc::bad_value, "'" + std::string(relative) + "' is no path below a folder", {}, {}};
    }
    if (slash == std::string_view::npos) {
      Fd file(::openat(at, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode));
      if (!file) return failed("open " + std::string(relative), errno);
      return file;
    }
    Fd next(::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!next) return failed("open " + std::string(relative), errno);
    parent = std::move(next);
    at = parent.get();
    rest.remove_prefix(slash + 1);
  }
}

Result<std::string> read_all(const Fd& file, std::uint64_t bytes_max, const std::string& label) {
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return failed("stat " + label, errno);
  if (!S_ISREG(info.st_mode)) return Error{Errc::bad_value, label + " is no regular file", {}, {}};
  std::string bytes;
  bytes.reserve(std::min<std::uint64_t>(static_cast<std::uint64_t>(info.st_size), bytes_max));
  std::array<char, 64 * 1024> buffer{};
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read " + label, errno);
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > bytes_max) {
      return Error{Errc::too_large,
                   label + " has more than " + std::to_string(bytes_max) + " bytes",
                   {},
                   {}};
    }
  }
}

Result<void> write_all(const Fd& file, std::string_view bytes, const std::string& label) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("write " + label, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace cupel::fs
