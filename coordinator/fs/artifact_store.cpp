#include "coordinator/fs/artifact_store.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cupel::coordinator::fs {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;
constexpr std::uint64_t kReserveCheckBytes = 16ULL << 20;  // statvfs once for so many written bytes

Error file_error(const std::string& what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return {.code = error == ENOENT ? Errc::not_found
                  : full          ? Errc::disk_full
                                  : Errc::io_error,
          .what = what,
          .detail = std::strerror(error),
          .hint = {}};
}

class Fd {
 public:
  Fd(const std::filesystem::path& file, int flags, mode_t mode = 0)
      : fd_(::open(file.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode)) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Result<void> write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error("write " + name, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<Digest> digest_of_file(int fd, const std::string& name) {
  Sha256 hash;
  std::vector<char> piece(kPieceBytes);
  off_t offset = 0;
  for (;;) {
    const ssize_t n = ::pread(fd, piece.data(), piece.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error("read " + name, errno);
    if (n == 0) return hash.finish();
    hash.update({piece.data(), static_cast<std::size_t>(n)});
    offset += n;
  }
}

std::optional<std::uint64_t> file_size(int fd) {
  struct stat info{};
  if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

Error mismatch(const Digest& digest) {
  return {.code = Errc::artifact_mismatch,
          .what = "the bytes are not those of sha256:" + digest.hex(),
          .detail = {},
          .hint = {}};
}

Error too_large(std::uint64_t limit) {
  return {.code = Errc::too_large,
          .what = "an artifact may have at most " + std::to_string(limit) + " bytes",
          .detail = {},
          .hint = {}};
}

}  // namespace

ArtifactStore::ArtifactStore(std::filesystem::path dir, ArtifactLimits limits)
    : dir_(std::move(dir)), limits_(limits) {}

Result<ArtifactStore> ArtifactStore::open(std::filesystem::path dir, ArtifactLimits limits) {
  if (!limits.shared) {
    if (auto cleared = cupel::fs::remove_tree(dir / "incoming"); !cleared) return cleared.error();
  }
  for (const char* folder : {"", "sha256", "partial", "incoming"}) {
    if (auto made = cupel::fs::ensure_private_dir(*folder == '\0' ? dir : dir / folder); !made)
      return made.error();
  }
  return ArtifactStore(std::move(dir), limits);
}

Result<void> ArtifactStore::clear_incoming() const {
  if (auto cleared = cupel::fs::remove_tree(dir_ / "incoming"); !cleared) return cleared.error();
  return cupel::fs::ensure_private_dir(dir_ / "incoming");
}

std::filesystem::path ArtifactStore::path(const Digest& digest) const {
  const std::string hex = digest.hex();
  return dir_ / "sha256" / hex.substr(0, 2) / hex.substr(2);
}

std::filesystem::path ArtifactStore::partial(const Digest& digest) const {
  return dir_ / "partial" / digest.hex();
}

std::optional<std::uint64_t> ArtifactStore::size(const Digest& digest) const {
  struct stat info{};
  if (::lstat(path(digest).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

Result<std::string> ArtifactStore::read(const Digest& digest, std::uint64_t offset,
                                        std::size_t bytes) const {
  const Fd fd(path(digest), O_RDONLY);
  if (fd.get() < 0) return file_error("artifact sha256:" + digest.hex(), errno);
  std::string out(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t n =
        ::pread(fd.get(), out.data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error("read artifact sha256:" + digest.hex(), errno);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  out.resize(have);
  return out;
}

Result<void> ArtifactStore::room_for(std::uint64_t bytes) const {
  const auto space = cupel::fs::space_of(dir_);
  if (!space) return space.error();
  if (space->bytes_free >= limits_.reserve_bytes + bytes) return {};
  return Error{.code = Errc::disk_full,
               .what = "no room for an artifact in " + dir_.string() + ": " +
                       std::to_string(limits_.reserve_bytes) + " bytes stay reserved for the store",
               .detail = {},
               .hint = {}};
}

Result<ArtifactStore::Opened> ArtifactStore::open_put(const Digest& digest,
                                                      std::uint64_t size_wanted) {
  if (size_wanted > limits_.artifact_bytes_max) return too_large(limits_.artifact_bytes_max);
  if (touch(digest)) return Opened{size_wanted, true};
  const Fd fd(partial(digest), O_RDWR | O_CREAT, 0600);
  const auto kept = file_size(fd.get());
  if (!kept) return file_error("open a partial artifact", errno);
  if (*kept > size_wanted) {
    if (::ftruncate(fd.get(), 0) != 0) return file_error("empty a partial artifact", errno);
    return Opened{0, false};
  }
  if (auto room = room_for(size_wanted - *kept); !room) return room.error();
  return Opened{*kept, false};
}

Result<void> ArtifactStore::append(const Digest& digest, std::uint64_t offset,
                                   std::string_view bytes) {
  const Fd fd(partial(digest), O_WRONLY | O_APPEND);
  const auto kept = file_size(fd.get());
  if (!kept) return file_error("partial artifact sha256:" + digest.hex(), errno);
  if (*kept != offset) {
    return Error{.code = Errc::conflict,
                 .what = "a piece for offset " + std::to_string(offset) + " where " +
                         std::to_string(*kept) + " is next",
                 .detail = {},
                 .hint = {}};
  }
  if (offset + bytes.size() > limits_.artifact_bytes_max)
    return too_large(limits_.artifact_bytes_max);
  if (offset / kReserveCheckBytes != (offset + bytes.size()) / kReserveCheckBytes) {
    if (auto room = room_for(bytes.size()); !room) return room;
  }
  return write_all(fd.get(), bytes, "partial artifact");
}

Result<void> ArtifactStore::finish_put(const Digest& digest) {
  if (size(digest)) return {};
  const std::filesystem::path file = partial(digest);
  const Fd fd(file, O_RDWR);
  if (fd.get() < 0) return file_error("partial artifact sha256:" + digest.hex(), errno);
  const auto actual = digest_of_file(fd.get(), file.string());
  if (!actual) return actual.error();
  if (*actual != digest) {
    ::unlink(file.c_str());
    return mismatch(digest);
  }
  return publish(file, fd.get(), digest);
}

Result<void> ArtifactStore::publish(const std::filesystem::path& file, int fd,
                                    const Digest& digest) const {
  const std::filesystem::path target = path(digest);
  const std::filesystem::path folder = target.parent_path();
  if (auto made = cupel::fs::ensure_private_dir(folder); !made) return made;
  if (::fsync(fd) != 0) return file_error("sync an artifact", errno);
  CUPEL_CRASH_POINT("artifact.rename");
  if (::rename(file.c_str(), target.c_str()) != 0) return file_error("rename an artifact", errno);
  CUPEL_CRASH_POINT("artifact.renamed");
  for (const std::filesystem::path& dir : {folder, folder.parent_path()}) {
    const Fd dir_fd(dir, O_RDONLY | O_DIRECTORY);
    if (dir_fd.get() < 0 || ::fsync(dir_fd.get()) != 0)
      return file_error("sync " + dir.string(), errno);
  }
  return {};
}

Result<std::unique_ptr<ArtifactStore::Upload>> ArtifactStore::upload(const Digest& expected) const {
  if (auto room = room_for(0); !room) return room.error();
  const std::filesystem::path file = dir_ / "incoming" / cupel::fs::random_hex(12);
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return file_error("create " + file.string(), errno);
  return std::unique_ptr<Upload>(new Upload(*this, expected, file, fd));
}

ArtifactStore::Upload::Upload(const ArtifactStore& store, Digest expected,
                              std::filesystem::path file, int fd)
    : store_(store), expected_(expected), file_(std::move(file)), fd_(fd) {}

ArtifactStore::Upload::~Upload() {
  if (fd_ >= 0) ::close(fd_);
  if (!file_.empty()) ::unlink(file_.c_str());
}

Result<void> ArtifactStore::Upload::write(std::string_view bytes) {
  const std::uint64_t after = bytes_ + bytes.size();
  if (after > store_.limits_.artifact_bytes_max)
    return too_large(store_.limits_.artifact_bytes_max);
  if (bytes_ / kReserveCheckBytes != after / kReserveCheckBytes) {
    if (auto room = store_.room_for(bytes.size()); !room) return room;
  }
  bytes_ = after;
  hash_.update(bytes);
  return write_all(fd_, bytes, "an artifact");
}

Result<std::uint64_t> ArtifactStore::Upload::finish() {
  if (hash_.finish() != expected_) return mismatch(expected_);
  if (!store_.touch(expected_)) {
    if (auto done = store_.publish(file_, fd_, expected_); !done) return done.error();
    file_.clear();
  }
  return bytes_;
}

}  // namespace cupel::coordinator::fs
