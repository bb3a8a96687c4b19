/// Opening files below a directory whose content somebody else made: no link is ever followed, and
/// no name leaves the directory, whatever is exchanged meanwhile.
#pragma once

#include "common/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

namespace cupel::fs {

/// A file descriptor that is closed once. -1 = none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// The directory itself may be reached through links; its last component may not be one.
[[nodiscard]] Result<Fd> open_dir(const std::filesystem::path& dir);

/// Opens `relative` below `dir` with these flags (O_CLOEXEC and O_NOFOLLOW are added), component by
/// component. Errors: not_found, bad_value (absolute, empty, "." or ".." components, a link on the
/// way), already_exists (O_EXCL), io_error.
[[nodiscard]] Result<Fd> open_beneath(const Fd& dir, std::string_view relative, int flags,
                                      mode_t mode = 0);

/// Everything of an open regular file, at most `bytes_max`. Errors: too_large, bad_value (no
/// regular file), io_error. `label` is for messages.
[[nodiscard]] Result<std::string> read_all(const Fd& file, std::uint64_t bytes_max,
                                           const std::string& label);
[[nodiscard]] Result<void> write_all(const Fd& file, std::string_view bytes,
                                     const std::string& label);

}  // namespace cupel::fs
