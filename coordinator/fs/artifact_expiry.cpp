// What is old goes. Its own age is a file's time: written, or touched when it was asked for.
#include "coordinator/fs/artifact_store.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::coordinator::fs {
namespace {

constexpr std::int64_t kMicro = 1'000'000;

std::int64_t micros(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kMicro + time.tv_nsec / 1000;
}

Error walk_error(const std::filesystem::path& dir, const std::error_code& ec) {
  return {
      .code = Errc::io_error, .what = "list " + dir.string(), .detail = ec.message(), .hint = {}};
}

/// Regular files of a folder, one by one.
template <typename Each>
Result<void> for_each_file(const std::filesystem::path& dir, Each each) {
  std::error_code ec;
  std::filesystem::directory_iterator it(dir, ec);
  for (const std::filesystem::directory_iterator end; !ec && it != end; it.increment(ec)) {
    struct stat info{};
    if (::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (!each(it->path(), info)) return {};
  }
  if (ec) return walk_error(dir, ec);
  return {};
}

}  // namespace

bool ArtifactStore::touch(const Digest& digest) const {
  return ::utimensat(AT_FDCWD, path(digest).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<Expired> ArtifactStore::expire(const Expiry& expiry) const {
  Expired expired;
  const auto stopped = [&] { return expiry.stop && expiry.stop(); };
  const auto partials =
      for_each_file(dir_ / "partial", [&](const std::filesystem::path& file, const auto& info) {
        if (micros(info.st_mtim) < expiry.partials_before.us) ::unlink(file.c_str());
        return !stopped();
      });
  if (!partials) return partials.error();
  std::error_code ec;
  const std::filesystem::path root = dir_ / "sha256";
  std::filesystem::directory_iterator folder(root, ec);
  for (const std::filesystem::directory_iterator end; !ec && folder != end; folder.increment(ec)) {
    const std::string prefix = folder->path().filename().string();
    const auto walked =
        for_each_file(folder->path(), [&](const std::filesystem::path& file, const auto& info) {
          const auto bytes = static_cast<std::uint64_t>(info.st_size);
          const auto digest = Digest::parse(prefix + file.filename().string());
          const bool old = digest && micros(info.st_mtim) < expiry.before.us;
          if (old && !expiry.keep.contains(*digest) && ::unlink(file.c_str()) == 0) {
            ++expired.removed;
            expired.removed_bytes += bytes;
          } else {
            ++expired.kept;
            expired.kept_bytes += bytes;
          }
          return !stopped();
        });
    if (!walked) return walked.error();
    if (stopped()) return expired;
  }
  if (ec) return walk_error(root, ec);
  return expired;
}

}  // namespace cupel::coordinator::fs
