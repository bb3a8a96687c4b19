#include "common/bubblewrap/workspace_cache.hpp"

#include "common/core/digest.hpp"

#include <algorithm>
#include <cctype>
#include <poll.h>
#include <sys/stat.h>

namespace cupel::bubblewrap {

namespace stdfs = std::filesystem;

namespace {

constexpr std::uint64_t kProjectFileMax = 8192;
constexpr int kLockTries = 100;
constexpr int kLockPauseMs = 50;
constexpr std::size_t kNameMax = 40;
constexpr std::size_t kDigestChars = 16;

/// "cupel-0123456789abcdef": for people, and for uniqueness.
std::string folder_of(const std::string& project) {
  std::string name = stdfs::path(project).filename().string().substr(0, kNameMax);
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  return name + "-" + sha256(project).hex().substr(0, kDigestChars);
}

WallTime modified(const stdfs::path& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) return {};
  return {static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000};
}

}  // namespace

Result<std::string> resolved(const std::string& path) {
  std::error_code failure;
  const stdfs::path real = stdfs::canonical(path, failure);
  if (failure) {
    return Error{failure == std::errc::no_such_file_or_directory ? Errc::not_found : Errc::io_error,
                 "can't use " + path,
                 failure.message(),
                 {}};
  }
  return real.string();
}

Result<stdfs::path> cache_root(const std::map<std::string, std::string>& environment) {
  const auto value = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  // A relative path in this variable counts for nothing (XDG base directories, 0.8).
  if (const std::string xdg = value("XDG_CACHE_HOME"); xdg.starts_with('/'))
    return stdfs::path(xdg) / "cupel" / "sandbox";
  if (const std::string home = value("HOME"); home.starts_with('/'))
    return stdfs::path(home) / ".cache" / "cupel" / "sandbox";
  return Error{Errc::bad_config,
               "neither XDG_CACHE_HOME nor HOME says where caches go",
               {},
               "set XDG_CACHE_HOME to an absolute path"};
}

Result<ProjectCache> open_project_cache(const stdfs::path& root, const std::string& project) {
  const stdfs::path dir = root / folder_of(project);
  for (const stdfs::path& each : {root, dir, dir / "cache"}) {
    if (const auto made = fs::ensure_private_dir(each); !made) return made.error();
  }
  Result<fs::FileLock> lock = fs::FileLock::share(dir / "lock");
  // A command that ends holds it alone for a moment; a cleaner for longer.
  for (int tries = 0; !lock && lock.error().code == Errc::locked && tries < kLockTries; ++tries) {
    (void)::poll(nullptr, 0, kLockPauseMs);
    lock = fs::FileLock::share(dir / "lock");
  }
  if (!lock) return lock.error();
  // Between the first making and the lock a cleaner may have removed it.
  if (const auto made = fs::ensure_private_dir(dir / "cache"); !made) return made.error();
  // Its time says when it was last used.
  if (const auto written = fs::write_file_durably(dir / "project", project + "\n", 0600); !written)
    return written.error();
  const Result<std::string> real = resolved((dir / "cache").string());
  if (!real) return real.error();
  return ProjectCache{*real, std::move(*lock)};
}

std::vector<CacheEntry> list_caches(const stdfs::path& root) {
  std::vector<CacheEntry> all;
  std::error_code failure;
  for (const stdfs::directory_entry& entry : stdfs::directory_iterator(root, failure)) {
    if (entry.is_symlink() || !entry.is_directory() || !stdfs::exists(entry.path() / "lock"))
      continue;
    const auto text = fs::read_file(entry.path() / "project", kProjectFileMax);
    all.push_back({text ? text->substr(0, text->find('\n')) : std::string(), entry.path(),
                   modified(entry.path() / "project")});
  }
  std::ranges::sort(all, {}, &CacheEntry::dir);
  return all;
}

Result<CleanCounts> clean_caches(const std::vector<CacheEntry>& entries) {
  CleanCounts counts;
  for (const CacheEntry& entry : entries) {
    const auto lock = fs::FileLock::take(entry.dir / "lock");
    if (!lock && lock.error().code == Errc::locked) {
      counts.in_use.push_back(entry);
      continue;
    }
    if (!lock) return lock.error();
    const fs::DiskUsage usage = fs::usage_of({(entry.dir / "cache").string()});
    // The lock's file stays until last, and a command that waits for it makes the rest anew.
    for (const char* part : {"cache", "project", "lock"}) {
      if (const auto removed = fs::remove_tree(entry.dir / part); !removed) return removed.error();
    }
    std::error_code ignored;
    stdfs::remove(entry.dir, ignored);
    counts.freed.bytes += usage.bytes;
    counts.freed.inodes += usage.inodes;
    counts.removed.push_back(entry);
  }
  return counts;
}

}  // namespace cupel::bubblewrap
